import { transaction, createDatabase } from "@toolctrl/db/client";
import type { Queryable } from "@toolctrl/db/sql";
import { waitFor } from "@toolctrl/testkit/wait";
import { createWorkflow, switchWorkflow } from "@toolctrl/workflow/definitions";
import type { BenchCase, Side } from "../measure.ts";
import type { BenchServers } from "../servers.ts";
import { startWorkerProcesses, type WorkerProcesses } from "../worker-processes.ts";

const TENANT = "bench";
const PROCESSES = 2;
const CONCURRENCY = 10;
/** Of each run: decisions and mails in turn. */
const NODES = ["if-1", "mail-1", "if-2", "mail-2", "if-3", "mail-3", "if-4", "mail-4"];
const [FEW, MANY] = [10, 10_000];
/** What is hardly right to measure by is refused rather than waited for. */
const TIMEOUT_MS = 300_000;

/** Runs that two processes take from the outbox and the queue, step by step; and the same with very many finished runs in the tables. */
export async function stepsCase(servers: BenchServers, operations: number): Promise<BenchCase> {
  const workflowId = await addWorkflow(servers);
  const workers = await startWorkerProcesses(servers, {
    app: "worker-general",
    count: PROCESSES,
    settings: { OUTBOX_DISPATCHER_ENABLED: "true", WORKFLOW_CONCURRENCY: String(CONCURRENCY), OUTBOX_DISPATCH_INTERVAL_MS: "250" },
  });
  const runs = Math.ceil(operations / NODES.length);
  return {
    name: "steps",
    title: `steps of runs with ${MANY} finished runs in the tables ÷ with ${FEW}`,
    unit: "steps",
    operations: runs * NODES.length,
    target: 0.8,
    settings: { runs, "steps of each": NODES.length, processes: PROCESSES, WORKFLOW_CONCURRENCY: CONCURRENCY, executor: "native" },
    baseline: stepsSide(servers, { workers, workflowId, runs, finished: FEW }),
    product: stepsSide(servers, { workers, workflowId, runs, finished: MANY }),
    async close() {
      await workers.close();
      await servers.emptyRedis();
      await emptyTables(servers);
    },
  };
}

interface SideOptions {
  readonly workers: WorkerProcesses;
  readonly workflowId: string;
  readonly runs: number;
  readonly finished: number;
}

function stepsSide(servers: BenchServers, { workers, workflowId, runs, finished }: SideOptions): Side {
  const { admin } = servers;
  let last = "";
  return {
    label: `${finished} finished runs`,
    cpuMicros: workers.cpuMicros,
    async prepare() {
      await emptyTables(servers);
      last = await insertFinished(admin, workflowId, finished);
      await admin.query(`VACUUM (ANALYZE) "WorkflowExecution", "WorkflowStep"`);
      await admin.query("CHECKPOINT");
    },
    async run() {
      await requestRuns(admin, workflowId, runs);
      const open = `SELECT 1 FROM "WorkflowExecution" WHERE "tenantId" = $1 AND "id" > $2::uuid AND "finishedAt" IS NULL LIMIT 1`;
      await waitFor(async () => (await admin.query(open, [TENANT, last])).rowCount === 0, {
        what: "all runs to end",
        timeoutMs: TIMEOUT_MS,
      });
    },
    async verify() {
      // A receipt for each request, and two for each hook that tells of an end: then the workers are at rest, too.
      const receipts = `SELECT count(*)::int AS "n" FROM "OutboxReceipt" WHERE "tenantId" = $1`;
      const settled = async (): Promise<boolean> => (await admin.query<{ n: number }>(receipts, [TENANT])).rows[0]?.n === 3 * runs;
      await waitFor(settled, { what: `${3 * runs} receipts`, timeoutMs: TIMEOUT_MS });
      const { rows } = await admin.query<{ status: string; n: number }>(
        `SELECT s."status", count(*)::int AS "n" FROM "WorkflowExecution" e JOIN "WorkflowStep" s ON s."executionId" = e."id"
         WHERE e."id" > $1::uuid AND e."status" = 'success' GROUP BY 1`,
        [last],
      );
      const done = rows.find(({ status }) => status === "done")?.n ?? 0;
      if (rows.length !== 1 || done !== runs * NODES.length)
        throw new Error(`expected ${runs * NODES.length} steps, got ${JSON.stringify(rows)}`);
    },
  };
}

async function emptyTables({ emptyTables: empty }: BenchServers): Promise<void> {
  await empty("WorkflowInput", "WorkflowStep", "WorkflowExecution", "OutboxEvent", "OutboxReceipt", "OutboxIntent");
}

async function addWorkflow({ databaseUrl }: BenchServers): Promise<string> {
  const database = await createDatabase({ url: databaseUrl, poolMax: 1, app: "bench", wakeup: false });
  try {
    return await transaction(database.pool, async (tx) => {
      const { id } = await createWorkflow(tx, { tenantId: TENANT, definition: definitionOf(NODES) });
      await switchWorkflow(tx, { tenantId: TENANT, workflowId: id }, true);
      return id;
    });
  } finally {
    await database.close();
  }
}

/** One step after the other; a decision that says no ends, and none does. */
function definitionOf(ids: readonly string[]) {
  const nodes = ids.map((id) =>
    id.startsWith("if")
      ? { id, block: "if", config: { condition: "trigger.amount >= 10" } }
      : {
          id,
          block: "email",
          config: { to: "ann@example.test", subject: "Order {{ trigger.order }}", text: "Amount {{ trigger.amount }}" },
        },
  );
  const edges = ids.flatMap((from, index) => {
    const to = ids[index + 1] ?? null;
    return from.startsWith("if")
      ? [
          { from, branch: "then", to },
          { from, branch: "else", to: null },
        ]
      : [{ from, to }];
  });
  return { name: "bench", trigger: { type: "event", eventType: "order.paid" }, start: ids[0], nodes, edges };
}

const INPUT = { order: "2026-0042", amount: 20 };

/** Runs that have ended, with their steps. @returns the id of the last one; those of runs that begin later are greater */
async function insertFinished(db: Queryable, workflowId: string, count: number): Promise<string> {
  await db.query(
    `INSERT INTO "WorkflowExecution" ("id", "tenantId", "workflowId", "version", "status", "startedBy", "input", "startedAt", "finishedAt")
     SELECT uuidv7(), $1, $2::uuid, 1, 'success', 'api', $3::jsonb, clock_timestamp(), clock_timestamp() FROM generate_series(1, $4::int)`,
    [TENANT, workflowId, JSON.stringify(INPUT), count],
  );
  await db.query(
    `INSERT INTO "WorkflowStep" ("id", "executionId", "nodeId", "status", "branch", "output", "attempts", "finishedAt")
     SELECT uuidv7(), e."id", node, 'done', 'next', '{"result": true}', 1, clock_timestamp()
     FROM "WorkflowExecution" e CROSS JOIN unnest($1::text[]) AS node`,
    [NODES],
  );
  const { rows } = await db.query<{ id: string }>(`SELECT "id"::text AS "id" FROM "WorkflowExecution" ORDER BY "id" DESC LIMIT 1`);
  return rows[0]?.id ?? "";
}

/** Starts runs, and publishes the event that has each be executed, in one commit. */
async function requestRuns(db: Queryable, workflowId: string, count: number): Promise<void> {
  await db.query(
    `WITH run AS (
       INSERT INTO "WorkflowExecution" ("id", "tenantId", "workflowId", "version", "startedBy", "input")
       SELECT uuidv7(), $1, $2::uuid, 1, 'api', $3::jsonb FROM generate_series(1, $4::int) RETURNING "id")
     INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload")
     SELECT uuidv7(), $1, 'workflow.execution.requested', jsonb_build_object('executionId', "id") FROM run`,
    [TENANT, workflowId, JSON.stringify(INPUT), count],
  );
}
