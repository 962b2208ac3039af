import { isServing } from "@toolctrl/consumer-testkit/app-process";
import {
  deliver,
  isIdle,
  openInstallation,
  runConsumers,
  type Installation,
  type SharedDatabase,
} from "@toolctrl/consumer-testkit/installation";
import { letLocksRunOut, untilForgotten } from "@toolctrl/consumer-testkit/locks";
import type { JsonObject } from "@toolctrl/foundation/json";
import { BULLMQ_BACKGROUND } from "@toolctrl/testkit/crash-run";
import { crashLanes } from "@toolctrl/testkit/crash-lanes";
import type { CrashPoint } from "@toolctrl/testkit/crash-suite";
import type { HttpPeer } from "@toolctrl/testkit/http-peer";
import { storyOf, type LaneSuite } from "@toolctrl/testkit/lane-suite";
import { spawnNode } from "@toolctrl/testkit/process";
import { waitFor } from "@toolctrl/testkit/wait";
import { createExecutionsService, readExecution, type ExecutionKey, type ExecutionView } from "@toolctrl/workflow/executions";
import { consumersOf, partOf } from "./app.ts";
import { addWorkflow } from "./workflows.ts";
import { expectWholeRun, workflowOfEveryBlock } from "./workflow-of-every-block.ts";

const QUEUE = "outbox.workflow";

interface World {
  readonly installation: Installation;
  readonly workflowId: string;
  key: ExecutionKey | undefined;
}

/** Ends the consumer of workflows after each call (or each `step`-th, from the `first` on) of a run with every kind of block, and goes on with the run. */
export function crashWorkflow(
  shared: SharedDatabase,
  peer: HttpPeer,
  steps: { step?: number; first?: number } = {},
): Promise<CrashPoint[]> {
  const portOf = (name: string): number => Number(new URL(process.env[name] ?? "").port);
  return crashLanes({
    start: (options) => spawnNode(partOf("workflow-trigger").main, options),
    story: () => storyOf(suiteOf(shared, peer)),
    ports: { [portOf("TESTKIT_POSTGRES_URL")]: "sql", [portOf("TESTKIT_REDIS_URL")]: "redis", [peer.port]: "http" },
    ignore: BULLMQ_BACKGROUND,
    ...steps,
  });
}

function suiteOf(shared: SharedDatabase, peer: HttpPeer): LaneSuite<World> {
  const app = partOf("workflow-trigger");
  // Without hints, which come beside the calls of the step behind them, sooner or later.
  const env = { OUTBOUND_HTTP_ALLOW: `127.0.0.1:${peer.port}`, OUTBOX_WAKEUP: "false" };
  return {
    async open() {
      const installation = await openInstallation("redis", { on: shared });
      return { installation, workflowId: await addWorkflow(installation, workflowOfEveryBlock(peer.url)), key: undefined };
    },
    env: ({ installation }) => ({ ...installation.appEnv, ...app.env, ...env }),
    isServing: ({ installation }) => isServing(installation, app),
    handOver: startRun,
    state: async (world) => ((await goOn(world)) ? "done" : "working"),
    async settle({ installation }) {
      await untilForgotten(installation);
      await waitFor(() => peer.connections() === 0, { what: "the peer to have seen the last of the killed process" });
    },
    async recover(world) {
      await letLocksRunOut(world.installation);
      await finishHere(world, env);
    },
    async check(world, run) {
      await expectWholeRun({ view: await viewOf(world), requests: peer.requests, pool: world.installation.database.pool }, run);
    },
    close: ({ installation }) => installation.close(),
  };
}

async function startRun(world: World): Promise<void> {
  const { database, tenantId } = world.installation;
  const service = createExecutionsService({ pool: database.pool, executor: "native", runner: null });
  const input = { name: "Ann", amount: 200, kind: "gift" };
  const { execution } = await service.run({ tenantId, workflowId: world.workflowId, startedBy: "person", input });
  world.key = { tenantId, executionId: execution.id };
  await handOff(world);
}

/**
 * Does what others do for a run once its consumer has left it: hands its events off, and answers its question. True when it has ended and
 * nothing is left to do.
 */
async function goOn(world: World): Promise<boolean> {
  if (!(await isIdle(world.installation, [QUEUE]))) return false;
  await handOff(world);
  const { status, inputs } = await viewOf(world);
  const open = inputs.find((input) => input.status === "open");
  if (open !== undefined) await answer(world, open.id);
  return (status === "success" || status === "error") && isIdle(world.installation, [QUEUE]);
}

/** Hands off what is due of the tenant's runs, as the dispatcher does that others have too. */
async function handOff({ installation }: World): Promise<void> {
  const { database, tenantId } = installation;
  const { rows } = await database.pool.query<{ id: string; type: string; payload: JsonObject }>(
    `SELECT "id", "eventType" AS "type", "payload" FROM "OutboxEvent"
     WHERE "tenantId" = $1 AND "eventType" LIKE 'workflow.execution.%' AND "status" = 'PENDING' AND "scheduledAt" <= clock_timestamp()`,
    [tenantId],
  );
  for (const { id, type, payload } of rows) await deliver(installation, { queue: QUEUE, type, payload }, { eventId: id });
  if (rows.length === 0) return;
  await database.pool.query(
    `UPDATE "OutboxEvent" SET "status" = 'DONE', "blocksLine" = false, "processedAt" = clock_timestamp() WHERE "id" = ANY ($1::uuid[])`,
    [rows.map(({ id }) => id)],
  );
}

async function answer({ installation }: World, inputId: string): Promise<void> {
  const { database, tenantId } = installation;
  const service = createExecutionsService({ pool: database.pool, executor: "native", runner: null });
  await service.continue({ tenantId, inputId, value: { approved: true }, answeredBy: "bob" });
}

function viewOf({ installation, key }: World): Promise<ExecutionView> {
  if (key === undefined) throw new Error("expected a run to be started, got none");
  return readExecution(installation.database.pool, key);
}

/** What is left of the run, by the same consumer in this process. */
async function finishHere(world: World, env: Readonly<Record<string, string>>): Promise<void> {
  const { installation } = world;
  const { consumers, close } = consumersOf({ ...installation, appEnv: { ...installation.appEnv, ...env } });
  const running = runConsumers(
    installation,
    consumers.filter(({ queue }) => queue === QUEUE),
  );
  try {
    await waitFor(() => goOn(world), { what: "the run to end", timeoutMs: 30_000 });
  } finally {
    await running.close(2000);
    await close();
  }
}
