import { existsSync, globSync } from "node:fs";
import { join } from "node:path";
import { placeOf, type StageFolder } from "./run-stages.ts";

const MAP = "packages/consumer-map";
const EVIDENCE = "evidence.json";

/**
 * What the rollout gate reads in an image and this one lacks: the hashes that the build leaves, and the evidence of the tests where the
 * checkout has any. Nothing else would tell: the gate would be red, and pull workers stay off.
 */
export function listMissing(image: StageFolder, context: string): string[] {
  const wanted = ["dist/source-hashes.json", ...(existsSync(join(context, MAP, EVIDENCE)) ? [EVIDENCE] : [])];
  const [folder = ""] = globSync("node_modules/.pnpm/@toolctrl+consumer-map@*/node_modules/@toolctrl/consumer-map", {
    cwd: placeOf(image, "."),
  });
  return wanted.filter((path) => !existsSync(join(placeOf(image, folder), path)));
}
