// Workflows on a database of their own: real rows, real HTTP peers, and what an observer can see of a run.
import { createDatabase, transaction, type Database } from "@toolctrl/db/client";
import type { JsonObject } from "@toolctrl/foundation/json";
import type { WorkflowDefinitionInput } from "@toolctrl/foundation/workflows";
import { createGuardedHttp } from "@toolctrl/runtime/guarded-http";
import { createLogger } from "@toolctrl/runtime/logger";
import { startHttpPeer, type HttpPeer, type Responder } from "@toolctrl/testkit/http-peer";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { onTestFinished } from "vitest";
import { createWorkflow, switchWorkflow } from "../src/definitions.ts";
import {
  createExecutionsService,
  readExecution,
  type ExecutionKey,
  type ExecutionView,
  type WorkflowsExecutionsService,
} from "../src/executions.ts";
import { runExecution, type RunEnd, type RunnerDeps } from "../src/runner.ts";

export const TENANT = "acme";
const NEVER = new AbortController().signal;

export interface Bench {
  readonly database: Database;
  readonly http: HttpPeer;
  readonly deps: RunnerDeps;
  readonly service: WorkflowsExecutionsService;
  /** Adds a live workflow. */
  add(definition: WorkflowDefinitionInput): Promise<string>;
  /** Starts a run by hand; nothing is executed yet. */
  start(workflowId: string, input?: JsonObject): Promise<ExecutionKey>;
  /** Runs a run until it rests. */
  run(key: ExecutionKey): Promise<RunEnd>;
  view(key: ExecutionKey): Promise<ExecutionView>;
  /** Events of the outbox by type, oldest first. */
  events(type: string): Promise<Array<{ payload: JsonObject; depth: number; scheduledAt: Date }>>;
  count(sql: string): Promise<number>;
  /** Makes due what waits for a time. */
  makeDue(): Promise<void>;
}

/** Opens a database and an HTTP peer for one test. */
export async function openBench(respond?: Responder): Promise<Bench> {
  const [{ url }, http] = await Promise.all([createTestDatabase(), startHttpPeer()]);
  if (respond !== undefined) http.respond(respond);
  const database = await createDatabase({ url, poolMax: 10, app: "test" });
  onTestFinished(() => database.close(500));
  const guarded = createGuardedHttp({ allow: [new URL(http.url).host] });
  onTestFinished(() => guarded.close());
  const { pool } = database;
  const deps: RunnerDeps = { pool, http: guarded, credentials: null, log: createLogger({ app: "test", level: "silent" }) };
  const service = createExecutionsService({ pool, executor: "native", runner: deps });
  return {
    database,
    http,
    deps,
    service,
    add: (definition) =>
      transaction(pool, async (tx) => {
        const { id } = await createWorkflow(tx, { tenantId: TENANT, definition });
        await switchWorkflow(tx, { tenantId: TENANT, workflowId: id }, true);
        return id;
      }),
    async start(workflowId, input = {}) {
      const { execution } = await service.run({ tenantId: TENANT, workflowId, startedBy: "person", input });
      return { tenantId: TENANT, executionId: execution.id };
    },
    run: (key) => runExecution(deps, key, NEVER),
    view: (key) => readExecution(pool, key),
    async events(type) {
      const { rows } = await pool.query<{ payload: JsonObject; depth: number; scheduledAt: Date }>(
        `SELECT "payload", "depth", "scheduledAt" FROM "OutboxEvent" WHERE "eventType" = $1 ORDER BY "position"`,
        [type],
      );
      return rows;
    },
    async count(sql) {
      return (await pool.query<{ n: number }>(`SELECT count(*)::int AS n ${sql}`)).rows[0]?.n ?? 0;
    },
    async makeDue() {
      await pool.query(`UPDATE "WorkflowStep" SET "dueAt" = clock_timestamp() WHERE "status" = 'retry'`);
      await pool.query(`UPDATE "WorkflowInput" SET "expiresAt" = clock_timestamp() WHERE "status" = 'open' AND "expiresAt" IS NOT NULL`);
    },
  };
}

/** A definition that a person starts, its nodes linked one after the other unless edges are given. */
export function manual(nodes: WorkflowDefinitionInput["nodes"], edges?: WorkflowDefinitionInput["edges"]): WorkflowDefinitionInput {
  const chain = nodes.map(({ id }, index) => ({ from: id, to: nodes[index + 1]?.id ?? null }));
  return { name: "test", trigger: { type: "manual" }, start: nodes[0]?.id ?? "", nodes, edges: edges ?? chain };
}

/** A step that writes a row, so that how often it ran can be counted. */
export function note(id: string, data: JsonObject = {}): WorkflowDefinitionInput["nodes"][number] {
  return { id, block: "rowCreate", config: { table: "note", data: { step: id, ...data } } };
}

/** A step that asks for an answer. */
export function ask(id: string, expiresInSeconds?: number): WorkflowDefinitionInput["nodes"][number] {
  const fields = [{ name: "answer", label: "Answer", type: "text" as const }];
  return {
    id,
    block: "waitForInput",
    config: { title: `Question ${id}`, fields, ...(expiresInSeconds === undefined ? {} : { expiresInSeconds }) },
  };
}

/** How often each step of a run wrote its note. */
export async function notesOf(bench: Bench): Promise<Record<string, number>> {
  const { rows } = await bench.database.pool.query<{ step: string; n: number }>(
    `SELECT "data"->>'step' AS "step", count(*)::int AS "n" FROM "Row" WHERE "table" = 'note' GROUP BY 1 ORDER BY 1`,
  );
  return Object.fromEntries(rows.map(({ step, n }) => [step, n]));
}
