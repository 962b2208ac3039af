import type { Consumer } from "@toolctrl/consumer/define";
import type { QueueName } from "@toolctrl/foundation/queues";
import { BULLMQ_BACKGROUND } from "@toolctrl/testkit/crash-run";
import { crashLanes } from "@toolctrl/testkit/crash-lanes";
import { crashAfterEachCall, type CrashPoint, type CrashSuite } from "@toolctrl/testkit/crash-suite";
import { storyOf, type LaneSuite } from "@toolctrl/testkit/lane-suite";
import { spawnNode } from "@toolctrl/testkit/process";
import { waitFor } from "@toolctrl/testkit/wait";
import { isServing, startApp, type App } from "./app-process.ts";
import {
  deliver,
  isIdle,
  openInstallation,
  receiptsOf,
  runConsumers,
  type BackendKind,
  type HandedOff,
  type Installation,
} from "./installation.ts";
import { letLocksRunOut, untilForgotten } from "./locks.ts";

/** Events on their way through one consumer, or through an app. */
export interface CrashJourney {
  /** The process that is ended. */
  readonly app: App;
  readonly backend: BackendKind;
  readonly events: readonly HandedOff[];
  /** The consumers that the process runs; when they have finished the events, its work is done. */
  readonly crashing: readonly string[];
  /** All consumers of the events. */
  readonly finishing: readonly string[];
  /** The queues the events pass, which are idle in the end. */
  readonly queues: readonly QueueName[];
  /** More ports to count: the peers', with a label each. */
  readonly ports?: Readonly<Record<number, string>>;
  /** What has to be there before the events. */
  prepare?(installation: Installation): Promise<void>;
  /** Hands an event to the process; by default it is its job that is added. */
  handOver?(installation: Installation, event: HandedOff): Promise<string>;
  /** The app's consumers, as its main file makes them, for the recovery in this process. */
  consumers(installation: Installation): { readonly consumers: readonly Consumer[]; close?(): Promise<void> };
  /** Throws where the effects of the events are not what they have to be. `crashed` says whether a process was ended. */
  check(installation: Installation, eventIds: readonly string[], run: { readonly crashed: boolean }): Promise<void>;
}

interface World {
  readonly installation: Installation;
  readonly eventIds: string[];
}

/**
 * Ends the process after each call (or each `step`-th, from the `first` on) it makes for these events, and recovers with the app's consumers alone. An app that
 * hosts lanes dies at many of them at once.
 */
export function crashConsumers(journey: CrashJourney, steps: { step?: number; first?: number } = {}): Promise<CrashPoint[]> {
  const calls = {
    ports: { [portOf("TESTKIT_POSTGRES_URL")]: "sql", [portOf("TESTKIT_REDIS_URL")]: "redis", ...journey.ports },
    ignore: BULLMQ_BACKGROUND,
    ...steps,
  };
  return journey.app.hostsLanes === true
    ? crashLanes({
        ...calls,
        start: (options) => spawnNode(journey.app.main, options),
        story: () => storyOf(laneSuiteOf(journey)),
        // On Postgres the queue's connections are the database's.
        ...(journey.backend === "postgres" ? { lanes: 6 } : {}),
      })
    : crashAfterEachCall<World>(suiteOf(journey), { ...calls, arm: "signal" });
}

function laneSuiteOf(journey: CrashJourney): LaneSuite<World> {
  return {
    open: () => openWorld(journey),
    env: ({ installation }) => ({ ...installation.appEnv, ...journey.app.env }),
    isServing: ({ installation }) => isServing(installation, journey.app),
    handOver: (world) => handOver(world, journey),
    state: async (world) => ((await isFinished(world, journey.crashing, journey.app.queues)) ? "done" : "working"),
    settle: ({ installation }) => untilForgotten(installation),
    recover: (world) => recover(world, journey),
    check: ({ installation, eventIds }, run) => journey.check(installation, eventIds, run),
    close: ({ installation }) => installation.close(),
  };
}

function suiteOf(journey: CrashJourney): CrashSuite<World> {
  return {
    open: () => openWorld(journey),
    async start(world, points) {
      const child = await startApp(world.installation, journey.app, points);
      child.kill("SIGUSR2");
      await child.waitForLine(/^crash points armed$/);
      await handOver(world, journey);
      return child;
    },
    isDone: (world) => isFinished(world, journey.crashing, journey.app.queues),
    async recover(world) {
      await untilForgotten(world.installation);
      await recover(world, journey);
    },
    check: ({ installation, eventIds }, run) => journey.check(installation, eventIds, run),
    close: ({ installation }) => installation.close(),
  };
}

async function openWorld(journey: CrashJourney): Promise<World> {
  const installation = await openInstallation(journey.backend);
  await journey.prepare?.(installation);
  return { installation, eventIds: [] };
}

async function handOver({ installation, eventIds }: World, journey: CrashJourney): Promise<void> {
  const handEventOver = journey.handOver ?? deliver;
  for (const event of journey.events) eventIds.push(await handEventOver(installation, event));
}

async function recover(world: World, journey: CrashJourney): Promise<void> {
  const { installation } = world;
  await letLocksRunOut(installation);
  const { consumers, close } = journey.consumers(installation);
  const running = runConsumers(installation, consumers);
  try {
    await waitFor(() => isFinished(world, journey.finishing, journey.queues), { what: "every consumer to finish", timeoutMs: 20_000 });
  } finally {
    await running.close(2000);
    await close?.();
  }
}

async function isFinished({ installation, eventIds }: World, consumers: readonly string[], queues: readonly QueueName[]): Promise<boolean> {
  for (const id of eventIds) {
    const receipts = await receiptsOf(installation, id);
    if (!consumers.every((consumer) => receipts.includes(`${consumer} done`))) return false;
  }
  return isIdle(installation, queues);
}

function portOf(name: string): number {
  return Number(new URL(process.env[name] ?? "").port);
}
