import { BULLMQ_BACKGROUND } from "@toolctrl/testkit/crash-run";
import { crashLanes } from "@toolctrl/testkit/crash-lanes";
import type { CrashPoint } from "@toolctrl/testkit/crash-suite";
import { spawnNode } from "@toolctrl/testkit/process";
import type { LaneStory } from "@toolctrl/testkit/run-lanes";
import { waitFor } from "@toolctrl/testkit/wait";
import type { Installation } from "../installation.ts";
import { letJobLocksRunOut, letLocksRunOut, untilForgotten } from "../locks.ts";
import type { AnySubject } from "../subject.ts";
import { CLAIM_TTL_MS } from "./deliver-at-once.ts";
import { openFor, type Ground } from "./ground.ts";
import { holdTable, type HeldTable } from "./hold-table.ts";
import { describeOutcome, outcomeOf, problemsOf } from "./outcome.ts";
import { runnerOf, type Runner } from "./runner.ts";

/**
 * Kills the subject's process after each call it makes for an event, and while its handler stands still; what is left of the event is
 * delivered again then. Throws for the first of these deaths after which there is not exactly one effect.
 */
export function killEverywhere(ground: Ground, subject: AnySubject): Promise<CrashPoint[]> {
  const runner = runnerOf(subject);
  const peers = Object.entries(subject.peers?.() ?? {}).map(([label, { port }]) => [port, label] as const);
  return crashLanes({
    start: (options) => spawnNode(runner.main, options),
    ports: {
      [portOf("TESTKIT_POSTGRES_URL")]: "sql",
      [portOf("TESTKIT_REDIS_URL")]: "redis",
      ...Object.fromEntries(peers),
    },
    ignore: BULLMQ_BACKGROUND,
    story: () => death(subject, runner, afterCall(ground, runner)),
    beside: [
      {
        ...death(subject, runner, inHandler(ground, subject)),
        what: "killed inside its handler",
        awaited: `its handler to wait for ${subject.table}`,
      },
    ],
  });
}

/** One way to die. */
interface Way {
  open(): Promise<Installation>;
  /** Before the event's delivery. */
  ready?(installation: Installation): Promise<void>;
  state(installation: Installation, eventId: string): Promise<"working" | "done" | "held">;
  /** After the death. */
  letGo?(): Promise<void>;
  /** Time passes, as far as the dead process's locks know it. */
  runOut(installation: Installation): Promise<void>;
}

function afterCall(ground: Ground, runner: Runner): Way {
  return {
    open: () => openFor(ground, runner),
    state: async (installation, eventId) => ((await runner.isFinished(installation, eventId)) ? "done" : "working"),
    runOut: letLocksRunOut,
  };
}

function inHandler(ground: Ground, subject: AnySubject): Way {
  let held: HeldTable | undefined;
  return {
    async open() {
      const installation = await ground.openAlone({ claimTtlMs: CLAIM_TTL_MS });
      return { ...installation, close: () => (held?.release() ?? Promise.resolve()).then(() => installation.close()) };
    },
    async ready(installation) {
      held = await holdTable(installation, subject.table);
    },
    state: async () => ((await held?.waiting()) === 1 ? "held" : "working"),
    // A session that waits for a lock does not see that its client is gone.
    letGo: async () => held?.release(),
    // The claim of the dead one is waited for in real time, by a delivery that uses no attempt on it.
    runOut: "queue" in subject ? letJobLocksRunOut : letLocksRunOut,
  };
}

function death(subject: AnySubject, runner: Runner, way: Way): Omit<LaneStory, "what" | "afterCall"> {
  let installation: Installation;
  let eventId: string;
  let delivery: string;
  let callsOfDead: number;
  return {
    async open() {
      installation = await way.open();
      await runner.prepare(installation);
      eventId = await subject.publish(installation);
      await way.ready?.(installation);
      return runner.env(installation);
    },
    isServing: () => runner.isServing(installation),
    async handOver() {
      delivery = await runner.deliver(installation, eventId, 0);
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
      await runner.whileRunning(installation, () => runner.untilEnded(installation, [delivery]));
    },
    async check({ crashed }) {
      const outcome = await outcomeOf(installation, subject, eventId, [delivery]);
      const problems = problemsOf(outcome, subject.name, crashed ? { callsOfDead } : {});
      if (problems.length > 0) throw new Error(`${problems.join("; ")} (${describeOutcome(outcome)})`);
      await subject.check?.(installation, eventId);
    },
    close: () => installation.close(),
  };
}

function portOf(name: string): number {
  return Number(new URL(process.env[name] ?? "").port);
}
