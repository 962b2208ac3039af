import { randomUUID } from "node:crypto";
import type { Subject } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { deliver, type HandedOff, type Installation } from "@toolctrl/consumer-testkit/installation";
import type { JsonObject } from "@toolctrl/foundation/json";
import type { WorkflowDefinitionInput } from "@toolctrl/foundation/workflows";
import { jobIdFor } from "@toolctrl/queue/job-id";
import { createExecutionsService } from "@toolctrl/workflow/executions";
import { expect } from "vitest";
import { consumersOf, partOf } from "../app.ts";
import { addWorkflow, chainOf } from "../workflows.ts";

const NAME = "workflow-trigger";
const QUEUE = "outbox.workflow";

const EVENT: HandedOff = {
  queue: QUEUE,
  type: "workflow.trigger.event",
  payload: { source: "row", eventType: "row.created", object: "deal", recordId: "7", data: { after: { data: { name: "First" } } } },
};

const NOTE: WorkflowDefinitionInput["nodes"][number] = {
  id: "note",
  block: "rowCreate",
  config: { table: "note", data: { text: "Hello" } },
};
const MAIL: WorkflowDefinitionInput["nodes"][number] = {
  id: "mail",
  block: "email",
  config: { to: "ann@example.test", subject: "Note {{ steps.note.id }}", text: "Hello" },
};

/** An effect is a run of each workflow that the event matches, with the event that has it run; there are two workflows. */
export const workflowStart: Subject = {
  name: NAME,
  queue: QUEUE,
  app: () => partOf(NAME),
  consumers: consumersOf,
  async publish(installation) {
    const trigger: WorkflowDefinitionInput["trigger"] = { type: "row", table: "deal", on: ["created"] };
    for (const name of ["one", "two"]) await addWorkflow(installation, { name, trigger, ...chainOf([NOTE]) });
    return randomUUID();
  },
  async add(installation, eventId, generation) {
    await deliver(installation, EVENT, { eventId, generation });
    return jobIdFor(eventId, generation);
  },
  table: "WorkflowExecution",
  async effects({ database, tenantId }) {
    const { rows } = await database.pool.query<{ n: number }>(
      `SELECT count(e."id")::int AS "n" FROM "Workflow" w
         LEFT JOIN "WorkflowExecution" x ON x."workflowId" = w."id" AND x."status" = 'queued'
         LEFT JOIN "OutboxEvent" e ON e."tenantId" = w."tenantId" AND e."eventType" = 'workflow.execution.requested'
           AND e."payload" ->> 'executionId' = x."id"::text
       WHERE w."tenantId" = $1 GROUP BY w."id"`,
      [tenantId],
    );
    return wholeEffects(rows.map(({ n }) => n));
  },
  /** A run that has forgotten its event does not keep that from starting another one. */
  async removeProtection({ database }) {
    await database.pool.query(
      `CREATE FUNCTION "loseEvent"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW."triggerEventId" := NULL; RETURN NEW; END $$;
       CREATE TRIGGER "loseEvent" BEFORE INSERT ON "WorkflowExecution" FOR EACH ROW EXECUTE FUNCTION "loseEvent"()`,
    );
  },
};

/** An effect is all that the steps of a run do, and its end: a row, a mail, and the hook that tells the plugins. */
export const workflowRun: Subject = {
  name: NAME,
  queue: QUEUE,
  app() {
    const part = partOf(NAME);
    // A hint that others wake by comes beside the calls of the step behind it, sooner or later.
    return { ...part, env: { ...part.env, OUTBOX_WAKEUP: "false" } };
  },
  consumers: consumersOf,
  publish: requestRun,
  async add(installation, eventId, generation) {
    const { rows } = await installation.database.pool.query<{ payload: JsonObject }>(
      `SELECT "payload" FROM "OutboxEvent" WHERE "id" = $1`,
      [eventId],
    );
    await deliver(
      installation,
      { queue: QUEUE, type: "workflow.execution.requested", payload: rows[0]?.payload ?? {} },
      { eventId, generation },
    );
    return jobIdFor(eventId, generation);
  },
  table: "Row",
  async effects({ database, tenantId }) {
    const { rows } = await database.pool.query<{ n: number }>(
      `SELECT count(*)::int AS "n" FROM "Row" WHERE "tenantId" = $1 AND "table" = 'note'
       UNION ALL
       SELECT count(e."id")::int FROM unnest($2::text[]) AS asked("type")
         LEFT JOIN "OutboxEvent" e ON e."tenantId" = $1 AND e."eventType" = asked."type" GROUP BY asked."type"`,
      [tenantId, ["mail.message.send", "plugin.hook.workflow.executed"]],
    );
    return wholeEffects(rows.map(({ n }) => n));
  },
  async check({ database, tenantId }) {
    const { rows } = await database.pool.query(
      `SELECT x."status" AS "run", s."nodeId", s."status", s."attempts" FROM "WorkflowExecution" x JOIN "WorkflowStep" s ON s."executionId" = x."id"
       WHERE x."tenantId" = $1 ORDER BY s."id"`,
      [tenantId],
    );
    expect(rows).toEqual(["note", "mail"].map((nodeId) => ({ run: "success", nodeId, status: "done", attempts: 1 })));
  },
  /** When its delivery has ended, a run has forgotten its steps, and that it began. */
  async removeProtection({ database }) {
    await database.pool.query(
      `CREATE FUNCTION "forgetSteps"() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN
         DELETE FROM "WorkflowStep" s USING "WorkflowExecution" x WHERE s."executionId" = x."id" AND x."tenantId" = NEW."tenantId";
         UPDATE "WorkflowExecution" SET "status" = 'queued', "finishedAt" = NULL WHERE "tenantId" = NEW."tenantId";
         RETURN NULL;
       END $$;
       CREATE TRIGGER "forgetSteps" AFTER INSERT ON "OutboxReceipt" FOR EACH ROW EXECUTE FUNCTION "forgetSteps"()`,
    );
  },
};

/** Has a run be started by a person. @returns the id of the event that asks for it, which nobody has handed off yet */
async function requestRun(installation: Installation): Promise<string> {
  const { database, tenantId } = installation;
  const workflowId = await addWorkflow(installation, { name: "hello", trigger: { type: "manual" }, ...chainOf([NOTE, MAIL]) });
  const service = createExecutionsService({ pool: database.pool, executor: "native", runner: null });
  const { execution } = await service.run({ tenantId, workflowId, startedBy: "person" });
  const { rows } = await database.pool.query<{ id: string }>(
    `SELECT "id" FROM "OutboxEvent" WHERE "eventType" = 'workflow.execution.requested' AND "payload" ->> 'executionId' = $1`,
    [execution.id],
  );
  return rows[0]?.id ?? "";
}

/** Half an effect is none. */
function wholeEffects(counts: readonly number[]): number {
  return counts.includes(0) ? 0 : Math.max(...counts);
}
