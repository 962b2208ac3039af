import { packPackages } from "./pack-packages.ts";

packPackages();
