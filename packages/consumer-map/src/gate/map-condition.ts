import type { StartCondition } from "@toolctrl/outbox-drainer/switch";
import type { MapProof } from "../proof.ts";
import { redFor } from "./answers.ts";
import { remembered } from "./remembered.ts";

const LOOK_AGAIN_MS = 15_000;

/** The map is what is declared, and every consumer in scope is proven to have one effect, by tests of the code that runs here. */
export function createMapCondition(proveMap: () => Promise<MapProof>): StartCondition {
  const look = remembered(proveMap, LOOK_AGAIN_MS);
  return {
    name: "consumer map",
    async check() {
      const { reasons } = await look();
      const fix = "run the tests of this version and deploy the evidence they leave, or put the consumer out of scope with a reason";
      return redFor(reasons.map((why) => ({ why, fix })));
    },
  };
}
