import { deliver, type SharedDatabase } from "@toolctrl/consumer-testkit/installation";
import type { WorkflowDefinitionInput } from "@toolctrl/foundation/workflows";
import { startHttpPeer } from "@toolctrl/testkit/http-peer";
import { listExecutions, readExecution } from "@toolctrl/workflow/executions";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chooseE2eDatabase, HOW_TO_RUN } from "../../test/e2e-database.ts";
import { openE2eDatabase, openOnPostgres, whyNotQuiet, type PostgresRig } from "../../test/workflow-on-postgres.ts";
import { addWorkflow, chainOf } from "../../test/workflows.ts";

const chosen = chooseE2eDatabase(process.env);
if (chosen === null) process.stderr.write(`workflow-trigger-e2e.test.ts is skipped: ${HOW_TO_RUN}\n`);

const DEAL = { source: "row", eventType: "row.created", object: "deal", recordId: "7", data: { after: { data: { amount: 20 } } } } as const;
const TRIGGER: WorkflowDefinitionInput["trigger"] = { type: "row", table: "deal", on: ["created"] };
const QUEUE = "outbox.workflow";

describe.skipIf(chosen === null)(`workflows on a real PostgreSQL (${chosen?.from ?? HOW_TO_RUN})`, () => {
  let shared: SharedDatabase;

  beforeAll(async () => {
    if (chosen === null) return;
    shared = await openE2eDatabase(chosen);
    const why = await whyNotQuiet(shared.database);
    if (why !== null) throw new Error(why);
  });
  afterAll(() => shared.close());

  test("an event of a row starts a live workflow, which the native runner runs; delivered again it does nothing; the executed hook reaches the plugin", async () => {
    const rig = await openOnPostgres(shared);
    try {
      await addDeal(rig);
      rig.start();
      const eventId = await rig.publish("workflow.trigger.event", DEAL);
      await rig.until("the plugin to be told of the run", () => rig.told.length > 0);

      const runs = await listExecutions(rig.database.pool, { tenantId: rig.tenantId });
      expect(runs).toMatchObject([{ status: "success", startedBy: "row", triggerEventId: eventId }]);
      const executionId = runs[0]?.id ?? "";
      const { steps } = await readExecution(rig.database.pool, { tenantId: rig.tenantId, executionId });
      expect(steps.map(({ nodeId, status, branch }) => [nodeId, status, branch])).toEqual([
        ["large", "done", "then"],
        ["mail", "done", "next"],
      ]);
      expect(rig.told).toEqual([
        { type: "plugin.hook.workflow.executed", payload: expect.objectContaining({ executionId, status: "success", reasonCode: null }) },
      ]);
      await rig.until("every receipt to be there", async () => (await rig.count("OutboxReceipt", `"outcome" = 'done'`)) === 5);
      expect(await rig.count("OutboxEvent", `"status" <> 'DONE'`)).toBe(0);

      const before = await countsOf(rig);
      const requested = await idOf(rig, "workflow.execution.requested");
      await deliver(rig, { queue: QUEUE, type: "workflow.trigger.event", payload: DEAL }, { eventId, generation: 1 });
      await deliver(
        rig,
        { queue: QUEUE, type: "workflow.execution.requested", payload: { executionId } },
        { eventId: requested, generation: 1 },
      );
      await rig.until("both to be through once more", async () => (await rig.backend.counts(QUEUE)).completed === 4);
      expect(await countsOf(rig)).toEqual(before);
      expect(rig.told).toHaveLength(1);
    } finally {
      expect(await rig.leave()).toEqual([]);
    }
  });

  test("a block that this worker cannot run ends the run in error, without a request, and the failed hook reaches the plugin", async () => {
    const rig = await openOnPostgres(shared);
    const peer = await startHttpPeer();
    try {
      const credentialId = "0190a0a0-0000-4000-8000-000000000001";
      const call = { id: "call", block: "httpRequest" as const, config: { method: "POST" as const, url: peer.url, credentialId } };
      await addWorkflow(rig, { name: "deal", trigger: TRIGGER, ...chainOf([MAIL, call]) });
      // It was judged when the installation could open credentials, and is executed where none is to be had.
      rig.start("hybrid");
      await rig.publish("workflow.trigger.event", DEAL);
      await rig.until("the plugin to be told of the run", () => rig.told.length > 0);

      const runs = await listExecutions(rig.database.pool, { tenantId: rig.tenantId });
      expect(runs).toMatchObject([{ status: "error", reasonCode: "WORKFLOW.UNSUPPORTED_BLOCK", finishedAt: expect.any(Date) }]);
      const executionId = runs[0]?.id ?? "";
      const { steps } = await readExecution(rig.database.pool, { tenantId: rig.tenantId, executionId });
      expect(steps.map(({ nodeId, status }) => [nodeId, status])).toEqual([
        ["mail", "done"],
        ["call", "failed"],
      ]);
      expect(rig.told).toEqual([
        {
          type: "plugin.hook.workflow.failed",
          payload: expect.objectContaining({ executionId, status: "error", reasonCode: "WORKFLOW.UNSUPPORTED_BLOCK" }),
        },
      ]);
      expect(peer.requests).toEqual([]);
    } finally {
      expect(await rig.leave()).toEqual([]);
    }
  });
});

const MAIL = {
  id: "mail",
  block: "email" as const,
  config: { to: "ann@example.test", subject: "Deal {{ trigger.recordId }}", text: "Amount {{ trigger.data.after.data.amount }}" },
};

/** A workflow that needs nothing but the database. */
function addDeal(rig: PostgresRig): Promise<string> {
  const large = { id: "large", block: "if" as const, config: { condition: "trigger.data.after.data.amount >= 10" } };
  const edges = [
    { from: "large", branch: "then", to: "mail" },
    { from: "large", branch: "else", to: null },
    { from: "mail", to: null },
  ];
  return addWorkflow(rig, { name: "deal", trigger: TRIGGER, start: "large", nodes: [large, MAIL], edges });
}

/** What the tenant has: runs, events by their type, and receipts. */
async function countsOf(rig: PostgresRig): Promise<Record<string, number>> {
  const types = ["workflow.execution.requested", "mail.message.send", "plugin.hook.workflow.executed"];
  const events = await Promise.all(types.map(async (type) => [type, await rig.count("OutboxEvent", `"eventType" = '${type}'`)] as const));
  return { runs: await rig.count("WorkflowExecution"), receipts: await rig.count("OutboxReceipt"), ...Object.fromEntries(events) };
}

async function idOf({ database, tenantId }: PostgresRig, type: string): Promise<string> {
  const { rows } = await database.pool.query<{ id: string }>(`SELECT "id" FROM "OutboxEvent" WHERE "tenantId" = $1 AND "eventType" = $2`, [
    tenantId,
    type,
  ]);
  return rows[0]?.id ?? "";
}
