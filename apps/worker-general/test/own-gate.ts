// worker-general as a process of its own, with the product's gate; the proof of its map is that of the folder MAP_FOLDER.
import { createRolloutGate } from "@toolctrl/consumer-map/gate";
import { createMapProver } from "@toolctrl/consumer-map/proof";
import { runWorkerGeneral } from "../src/main.ts";

const { MAP_FOLDER = "" } = process.env;

void runWorkerGeneral({ gate: createRolloutGate({ proveMap: createMapProver({ packageFolder: MAP_FOLDER }) }) });
