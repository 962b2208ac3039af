import { openSharedDatabase } from "@toolctrl/consumer-testkit/installation";
import { startHttpPeer } from "@toolctrl/testkit/http-peer";
import { expect, onTestFinished, test } from "vitest";
import { crashWorkflow } from "./workflow-crashes.ts";

test(
  "ended after any call of a run, the run ends as it would have: no step's effect is missing or there twice",
  { timeout: 600_000 },
  async ({ annotate }) => {
    const shared = await openSharedDatabase();
    onTestFinished(() => shared.close());
    const points = await crashWorkflow(shared, await startHttpPeer());
    await annotate(`${points.length} crash points`);
    const calls = points.map(({ call }) => call);
    // Every step's transaction, and the call between two of them.
    for (const part of ["http: ", 'INSERT INTO "Row"', 'UPDATE "Row"', 'INSERT INTO "WorkflowInput"', `"status" = 'calling'`])
      expect(calls.filter((call) => call.includes(part)).length, `crash points at ${part}`).toBeGreaterThanOrEqual(1);
    expect(points.length, `${points.length} crash points`).toBeGreaterThanOrEqual(100);
  },
);
