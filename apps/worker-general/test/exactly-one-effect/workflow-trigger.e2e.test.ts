import { CONSUMER_MAP } from "@toolctrl/consumer-map/map";
import { describeExactlyOneEffect } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { describe } from "vitest";
import { workflowRun, workflowStart } from "../subjects/workflow-trigger.ts";

// The requests of its steps are counted in workflow-crashes.e2e.test.ts, where a retry can be waited for.
const entry = { ...CONSUMER_MAP["workflow-trigger"], effect: "database" } as const;

describeExactlyOneEffect(entry, workflowStart);

describe("a run", () => {
  describeExactlyOneEffect(entry, workflowRun);
});
