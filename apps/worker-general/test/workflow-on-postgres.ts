// Workflows on one PostgreSQL, queue included, which may be somebody else's: a tenant of its own, and nothing of it is left.
import { openInstallation, runConsumers, type Installation, type SharedDatabase } from "@toolctrl/consumer-testkit/installation";
import { createDatabase, type Database } from "@toolctrl/db/client";
import { publishOutboxEvent } from "@toolctrl/db/outbox";
import { createPluginSubscription } from "@toolctrl/domain/plugins";
import { createRouter } from "@toolctrl/event-router/router";
import type { JsonObject } from "@toolctrl/foundation/json";
import { createBatchDispatcher } from "@toolctrl/outbox-drainer/batch-dispatcher";
import { listLiveProcesses } from "@toolctrl/outbox-drainer/stats";
import { postgresSchemaOf } from "@toolctrl/queue/names";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import { createExecutor, type ExecutorKind } from "@toolctrl/workflow/executors";
import { createTriggerStore } from "@toolctrl/workflow/triggers";
import { createWorkflowConsumer } from "../src/consumers/create-workflow-consumer.ts";
import { consumersWith } from "./consumers-with.ts";
import type { E2eDatabase } from "./e2e-database.ts";

/** A call of a plugin's function. */
export interface Told {
  readonly type: string;
  readonly payload: JsonObject;
}

export interface PostgresRig extends Installation {
  /** What the plugin that subscribes to workflows was told, in order. */
  readonly told: readonly Told[];
  /** Runs the consumers of workflows and plugins; candidates are judged for this executor, and the native one runs them. */
  start(judgedFor?: ExecutorKind): void;
  publish(type: string, payload: JsonObject): Promise<string>;
  /** Hands off what is due, again and again, until this holds. */
  until(what: string, holds: () => Promise<boolean> | boolean): Promise<unknown>;
  /** How many rows of the tenant a table has. */
  count(table: string, where?: string): Promise<number>;
  /** Ends what runs, deletes what the tenant has, and says what of it is left all the same. */
  leave(): Promise<string[]>;
}

/** Opens the database that was chosen. Closing it drops it if it was made here. */
export async function openE2eDatabase({ url }: E2eDatabase): Promise<SharedDatabase> {
  const own = url === null ? await createTestDatabase() : null;
  const address = url ?? own?.url ?? "";
  const database = await createDatabase({ url: address, poolMax: 8, app: "test", wakeup: false });
  const close = async (): Promise<void> => {
    await database.close();
    await own?.drop();
  };
  return { url: address, database, close };
}

/**
 * Whether the dispatcher of a test may run on a database: it claims whatever is due, and another one would claim what the test publishes.
 * @returns why not; null when it may
 */
export async function whyNotQuiet({ pool }: Pick<Database, "pool">): Promise<string | null> {
  const processes = await listLiveProcesses(pool);
  if (processes.length > 0)
    return `expected a database that nobody drains, got ${processes.map(({ app, host }) => `${app} on ${host}`).join(", ")}`;
  const { rows } = await pool.query<{ open: number; mode: string }>(
    `SELECT (SELECT count(*)::int FROM "OutboxEvent" WHERE "status" IN ('PENDING', 'PROCESSING')) AS "open", (SELECT "mode" FROM "OutboxMode") AS "mode"`,
  );
  const { open = 0, mode } = rows[0] ?? {};
  if (open > 0)
    return `expected a database with no event under way, got ${open}: they would be handed off to a queue that goes with the test`;
  return mode === "batch" ? null : `expected a database that the batch dispatcher may drain, got the mode ${mode}`;
}

export async function openOnPostgres(shared: SharedDatabase): Promise<PostgresRig> {
  const installation = await openInstallation("postgres", { on: shared });
  const { database, backend, metrics, log, tenantId, appEnv } = installation;
  const { pool, prisma } = database;
  const told: Told[] = [];
  const closing: (() => Promise<void>)[] = [];
  const settings = { intervalMs: 1000, batchSize: 100, concurrency: 10, maxRetries: 6, leaseMs: 60_000, crashBudget: 6 };
  const alerts = createAlerts({ app: "test", log });
  const dispatcher = createBatchDispatcher({ pool, router: createRouter(), backend, settings, metrics, alerts, log });
  const functions = { tell: async ({ type, payload }: Told) => void told.push({ type, payload }) };
  const subscription = {
    tenantId,
    pluginId: "watcher",
    eventPrefixes: ["plugin.hook.workflow."],
    kind: "function",
    functionName: "tell",
  } as const;
  await prisma.$transaction((tx) => createPluginSubscription(tx, subscription));
  return {
    ...installation,
    told,
    start(judgedFor = "native") {
      const { consumers, http } = consumersWith(installation, {}, functions);
      const executor = createExecutor({ kind: "native" }, { pool, http, log });
      const workflows = createWorkflowConsumer({ pool, triggers: createTriggerStore(judgedFor), executor, concurrency: 2 });
      const running = runConsumers(installation, [workflows, consumers["plugin-fanout"], consumers["plugin-invoke"]]);
      closing.push(
        () => running.close(2000),
        () => http.close(),
      );
    },
    async publish(type, payload) {
      return (await prisma.$transaction((tx) => publishOutboxEvent(tx, { tenantId, type, payload }))).id;
    },
    until: (what, holds) =>
      waitFor(
        async () => {
          await dispatcher.tick();
          return holds();
        },
        { what, timeoutMs: 30_000 },
      ),
    async count(table, where = "true") {
      const { rows } = await pool.query<{ n: number }>(`SELECT count(*)::int AS "n" FROM "${table}" WHERE "tenantId" = $1 AND ${where}`, [
        tenantId,
      ]);
      return rows[0]?.n ?? 0;
    },
    async leave() {
      for (const close of closing.splice(0)) await close();
      await installation.close();
      const schema = postgresSchemaOf(appEnv["QUEUE_PREFIX"] ?? "");
      await deleteTenant(pool, tenantId, schema);
      return leftOf(pool, tenantId, schema);
    },
  };
}

/** In the order that their foreign keys allow; steps, questions and versions go with what they belong to. */
const TABLES = ["OutboxIntent", "OutboxReceipt", "OutboxEvent", "WorkflowExecution", "Workflow", "PluginSubscription"];

async function deleteTenant(pool: Database["pool"], tenantId: string, schema: string): Promise<void> {
  for (const table of TABLES) await pool.query(`DELETE FROM "${table}" WHERE "tenantId" = $1`, [tenantId]);
  await pool.query(`DELETE FROM "IdempotencyKey" WHERE strpos("key", $1) > 0`, [tenantId]);
  await pool.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
}

/** What a database still holds of a tenant, a line each. */
async function leftOf(pool: Database["pool"], tenantId: string, schema: string): Promise<string[]> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT "table_name" AS "name" FROM information_schema.columns WHERE "table_schema" = current_schema() AND "column_name" = 'tenantId' ORDER BY 1`,
  );
  const left: string[] = [];
  for (const { name } of tables) {
    const { rowCount } = await pool.query(`SELECT 1 FROM "${name}" WHERE "tenantId" = $1`, [tenantId]);
    if (rowCount !== 0) left.push(`${name}: ${rowCount} rows`);
  }
  const schemas = await pool.query(`SELECT 1 FROM information_schema.schemata WHERE "schema_name" = $1`, [schema]);
  return schemas.rowCount === 0 ? left : [...left, `the queue's schema ${schema}`];
}
