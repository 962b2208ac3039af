// Workflows of a tenant on a database of its own, and runs that a worker has taken as far as a test says.
import { PassThrough } from "node:stream";
import { createDatabase, transaction, type Database } from "@toolctrl/db/client";
import { listenForWakeups } from "@toolctrl/db/wakeup";
import type { JsonObject } from "@toolctrl/foundation/json";
import type { WorkflowDefinitionInput } from "@toolctrl/foundation/workflows";
import type { GuardedHttp } from "@toolctrl/runtime/guarded-http";
import { createLogger } from "@toolctrl/runtime/logger";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import { createWorkflow, switchWorkflow } from "@toolctrl/workflow/definitions";
import { createExecutionsService, readExecution, type ExecutionKey, type ExecutionView } from "@toolctrl/workflow/executions";
import { runExecution } from "@toolctrl/workflow/runner";
import { onTestFinished, vi } from "vitest";
import type { Io } from "../src/io.ts";
import { runCli } from "../src/run-cli.ts";
import { cli, type CliResult } from "./cli.ts";

/** One that a shell would not take for a word. */
export const TENANT = "Ann's & sons";

export interface AuditRow {
  readonly actor: string;
  readonly action: string;
  readonly reason: string | null;
  readonly affected: number;
  readonly params: JsonObject;
}

export interface WorkflowBench {
  readonly url: string;
  readonly database: Database;
  /** `toolctrl-cli workflow …` of the tenant, as a process of its own. */
  spawn(...args: string[]): Promise<CliResult>;
  /** The same command line in this process, for a tenth of the time. */
  call(...args: string[]): Promise<CliResult>;
  callAs(tenant: string, ...args: string[]): Promise<CliResult>;
  /** Counts the hints that drainers hear from now on, until the test ends. */
  hearHints(): Promise<{ waitFor(count: number): Promise<unknown> }>;
  /** Adds a workflow. @returns its id */
  add(definition: WorkflowDefinitionInput, live?: boolean): Promise<string>;
  /** Starts a run, and does what a worker does. */
  start(workflowId: string, input?: JsonObject): Promise<ExecutionView>;
  /** Goes on with a run as a worker does. */
  work(executionId: string): Promise<ExecutionView>;
  view(executionId: string): Promise<ExecutionView>;
  /** How many events of a type were published. */
  published(type: string): Promise<number>;
  audit(): Promise<AuditRow[]>;
  close(): Promise<void>;
}

/** Opens it, and names its database in this process's environment. @param status what every HTTP peer answers */
export async function openWorkflowBench(status: number): Promise<WorkflowBench> {
  const { url } = await createTestDatabase();
  const database = await createDatabase({ url, poolMax: 3, app: "cli-test", wakeup: false });
  vi.stubEnv("DATABASE_URL", url);
  const { pool } = database;
  const http: Pick<GuardedHttp, "request"> = {
    request: () => Promise.resolve({ status, headers: {}, body: Buffer.alloc(0), truncated: false }),
  };
  const deps = { pool, http, credentials: null, log: createLogger({ app: "test", level: "silent" }) };
  const service = createExecutionsService({ pool, executor: "native", runner: null });
  const keyOf = (executionId: string): ExecutionKey => ({ tenantId: TENANT, executionId });
  const view = (executionId: string): Promise<ExecutionView> => readExecution(pool, keyOf(executionId));
  const work = async (executionId: string): Promise<ExecutionView> => {
    await runExecution(deps, keyOf(executionId), new AbortController().signal);
    return view(executionId);
  };
  return {
    url,
    database,
    spawn: (...args) => cli(["workflow", ...args, "--tenant", TENANT], { DATABASE_URL: url }),
    call: (...args) => callAs(TENANT, ...args),
    callAs,
    hearHints: () => hearHints(url),
    view,
    work,
    add: (definition, live = true) =>
      transaction(pool, async (tx) => {
        const { id } = await createWorkflow(tx, { tenantId: TENANT, definition });
        if (live) await switchWorkflow(tx, { tenantId: TENANT, workflowId: id }, true);
        return id;
      }),
    async start(workflowId, input = {}) {
      const { execution } = await service.run({ tenantId: TENANT, workflowId, startedBy: "person", input });
      return work(execution.id);
    },
    async published(type) {
      return (await pool.query(`SELECT 1 FROM "OutboxEvent" WHERE "eventType" = $1`, [type])).rowCount ?? 0;
    },
    async audit() {
      const { rows } = await pool.query<AuditRow>(
        `SELECT "actor", "action", "reason", "affected", "params" FROM "OutboxAction" ORDER BY "createdAt"`,
      );
      return rows;
    },
    close() {
      vi.unstubAllEnvs();
      return database.close();
    },
  };
}

async function callAs(tenant: string, ...args: string[]): Promise<CliResult> {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const code = await runCli(["workflow", ...args, "--tenant", tenant], { out, err, in: process.stdin, canAsk: false } as unknown as Io);
  const stdout = String(out.read() ?? "");
  return { code, stdout, stderr: String(err.read() ?? ""), json: () => JSON.parse(stdout) as Record<string, unknown> };
}

async function hearHints(url: string): Promise<{ waitFor(count: number): Promise<unknown> }> {
  let hints = 0;
  const listener = await listenForWakeups({ url, onWake: () => void (hints += 1) });
  onTestFinished(() => listener.close());
  // Its connection is one.
  hints = 0;
  return { waitFor: (count) => waitFor(() => hints >= count, { what: `${count} hints to the drainers` }) };
}

type Node = WorkflowDefinitionInput["nodes"][number];

/** A workflow whose nodes follow one another. */
export function chain(
  name: string,
  nodes: Node[],
  trigger: WorkflowDefinitionInput["trigger"] = { type: "manual" },
): WorkflowDefinitionInput {
  const edges = nodes.map(({ id }, index) => ({ from: id, to: nodes[index + 1]?.id ?? null }));
  return { name, trigger, start: nodes[0]?.id ?? "", nodes, edges };
}

export const ASK = {
  id: "approve",
  block: "waitForInput",
  config: {
    title: "Ship order {{ trigger.order }}?",
    fields: [
      { name: "approved", label: "Approved", type: "boolean" },
      { name: "way", label: "Way", type: "choice", choices: ["Ann's van", "mail"] },
      { name: "note", label: "Note", type: "text", required: false },
    ],
    expiresInSeconds: 3600,
  },
} satisfies Node;

export const MAIL = {
  id: "confirm",
  block: "email",
  config: { to: "sales@example.com", subject: "Order", text: "{{ trigger.order }}" },
} satisfies Node;

/** Fails until there is such a row. */
export const UPDATE = {
  id: "update",
  block: "rowUpdate",
  config: { table: "order", id: "0190a0a0-0000-7000-8000-000000000001", data: { state: "sent" } },
} satisfies Node;

export const CALL = { id: "call", block: "httpRequest", config: { method: "POST", url: "https://peer.example/" } } satisfies Node;

export const APPROVAL = chain("Approval", [ASK, MAIL], { type: "manual", input: [{ name: "order", label: "Order", type: "number" }] });
