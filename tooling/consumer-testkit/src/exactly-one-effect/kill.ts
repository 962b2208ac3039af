import { BULLMQ_BACKGROUND } from "@toolctrl/testkit/crash-run";
import { crashLanes } from "@toolctrl/testkit/crash-lanes";
import type { CrashPoint } from "@toolctrl/testkit/crash-suite";
import { spawnNode } from "@toolctrl/testkit/process";
import type { LaneStory } from "@toolctrl/testkit/run-lanes";
import { waitFor } from "@toolctrl/testkit/wait";
import { isServing, type App } from "../app-process.ts";
import { isIdle, receiptsOf, type Installation } from "../installation.ts";
import { letJobLocksRunOut, letLocksRunOut, untilForgotten } from "../locks.ts";
import type { Subject } from "../subject.ts";
import { CLAIM_TTL_MS } from "./deliver-twice.ts";
import type { Ground } from "./ground.ts";
import { holdTable, type HeldTable } from "./hold-table.ts";
import { describeOutcome, outcomeOf, problemsOf } from "./outcome.ts";
import { untilEnded, withSubject } from "./run-subject.ts";

/** Nothing waits for these claims: they are let run out. */
const LONG_CLAIM_TTL_MS = 30_000;

/**
 * Kills the consumer's process after each call it makes for an event, and while its handler stands still; what is left of the event is
 * delivered again then. Throws for the first of these deaths after which there is not exactly one effect.
 */
export function killEverywhere(ground: Ground, subject: Subject): Promise<CrashPoint[]> {
  const peers = Object.entries(subject.peers?.() ?? {}).map(([label, { port }]) => [port, label] as const);
  return crashLanes({
    start: (options) => spawnNode(subject.app(LONG_CLAIM_TTL_MS).main, options),
    ports: {
      [portOf("TESTKIT_POSTGRES_URL")]: "sql",
      [portOf("TESTKIT_REDIS_URL")]: "redis",
      ...Object.fromEntries(peers),
    },
    ignore: BULLMQ_BACKGROUND,
    story: () => deathAfterCall(ground, subject),
    beside: [{ ...deathInHandler(ground, subject), what: "killed inside its handler" }],
  });
}

type Death = Omit<LaneStory, "what" | "afterCall">;

function deathAfterCall(ground: Ground, subject: Subject): Death {
  return death(subject, {
    open: () => ground.open({ claimTtlMs: LONG_CLAIM_TTL_MS }),
    state: async (installation, eventId) => ((await isFinished(installation, subject, eventId)) ? "done" : "working"),
    runOut: letLocksRunOut,
  });
}

/** The claim of the dead one is waited for in real time, by a delivery that uses no attempt on it. */
function deathInHandler(ground: Ground, subject: Subject): Death {
  let held: HeldTable | undefined;
  return death(subject, {
    async open() {
      const installation = await ground.openAlone({ claimTtlMs: CLAIM_TTL_MS });
      return { ...installation, close: () => (held?.release() ?? Promise.resolve()).then(() => installation.close()) };
    },
    async ready(installation) {
      held = await holdTable(installation, subject.table);
    },
    state: async () => ((await held?.somebodyWaits()) === true ? "held" : "working"),
    // A session that waits for a lock does not see that its client is gone.
    letGo: async () => held?.release(),
    runOut: letJobLocksRunOut,
  });
}

interface Way {
  open(): Promise<Installation>;
  /** Before the event's job is added. */
  ready?(installation: Installation): Promise<void>;
  state(installation: Installation, eventId: string): Promise<"working" | "done" | "held">;
  /** After the death. */
  letGo?(): Promise<void>;
  /** Time passes, as far as the dead process's locks know it. */
  runOut(installation: Installation): Promise<void>;
}

function death(subject: Subject, way: Way): Death {
  let installation: Installation;
  let app: App;
  let eventId: string;
  let job: string;
  let callsOfDead: number;
  return {
    async open() {
      installation = await way.open();
      eventId = await subject.publish(installation);
      app = subject.app(installation.claimTtlMs);
      return { ...installation.appEnv, ...app.env };
    },
    isServing: () => isServing(installation, app),
    async handOver() {
      await way.ready?.(installation);
      job = await subject.add(installation, eventId, 0);
    },
    state: () => way.state(installation, eventId),
    async settle() {
      await way.letGo?.();
      await untilForgotten(installation);
      for (const [label, peer] of Object.entries(subject.peers?.() ?? {}))
        await waitFor(() => peer.connections() === 0, { what: `${label} to have seen the last of the killed process` });
    },
    async recover() {
      callsOfDead = (await subject.calls?.(installation, eventId))?.length ?? 0;
      await way.runOut(installation);
      await withSubject(installation, subject, () => untilEnded(installation, subject, [job]));
    },
    async check({ crashed }) {
      const outcome = await outcomeOf(installation, subject, eventId, [job]);
      const problems = problemsOf(outcome, subject.name, crashed ? { callsOfDead } : {});
      if (problems.length > 0) throw new Error(`${problems.join("; ")} (${describeOutcome(outcome)})`);
      await subject.check?.(installation, eventId);
    },
    close: () => installation.close(),
  };
}

async function isFinished(installation: Installation, { name, queue }: Subject, eventId: string): Promise<boolean> {
  return (await receiptsOf(installation, eventId)).includes(`${name} done`) && (await isIdle(installation, [queue]));
}

function portOf(name: string): number {
  return Number(new URL(process.env[name] ?? "").port);
}
