import { describeError, isCodedError } from "@toolctrl/foundation/errors";
import type { StartCondition } from "@toolctrl/outbox-drainer/switch";
import { assertResultTtlCoversHorizon, type RetryHorizonSettings } from "@toolctrl/outbox-receiver/horizon";
import { redFor } from "./answers.ts";

/** A finished delivery is remembered for longer than any of its retries can take. A worker asks the same at its start. */
export function createResultTtlCondition(horizon: RetryHorizonSettings): StartCondition {
  return {
    name: "result TTL",
    check() {
      try {
        assertResultTtlCoversHorizon(horizon);
        return Promise.resolve(redFor([]));
      } catch (error) {
        if (!isCodedError(error)) return Promise.reject(error);
        // The first line says it; the others are the sum.
        const [why = ""] = describeError(error).split("\n");
        return Promise.resolve(redFor([{ why: why.replace(/:$/, ""), fix: "raise OUTBOX_RESULT_TTL_SECONDS in every worker" }]));
      }
    },
  };
}
