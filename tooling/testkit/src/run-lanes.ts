import type { CrashPoint } from "./crash-suite.ts";
import { inTurns } from "./in-turns.ts";
import { startLaneHost, type LaneHost, type LaneHostOptions } from "./start-lane-host.ts";

/** A copy of a program in a process with others of its kind, and what is to become of it. */
export interface LaneStory {
  /** What happens here, for messages. */
  readonly what: string;
  /** Cut off after this call, counted from 1; without it, it lives until it is done or held. */
  readonly afterCall?: number;
  /** Opens its world (database, queue, …) and returns the environment of the program there. */
  open(): Promise<Readonly<Record<string, string>>>;
  isServing(): Promise<boolean>;
  /** Gives the program its work; its calls count from just before. */
  handOver(): Promise<void>;
  /** What is waited for until it is not `working` any more; default: the work to be done. */
  readonly awaited?: string;
  /**
   * `done`: it is closed, as a program is that is told to stop. `held`: it is left as it is until the process is killed. Without it, the
   * program is done when it has done what it does by itself.
   */
  state?(): Promise<LaneState>;
  /** Waits until the servers and peers have seen the last of the killed process. */
  settle(): Promise<void>;
  /** What the product does by itself afterwards, time included. */
  recover(): Promise<void>;
  /** Throws where the world is not as it has to be; `crashed` is false where the program had ended when the process was killed. */
  check(run: { readonly crashed: boolean }): Promise<void>;
  close(): Promise<void>;
}

export type LaneState = "working" | "done" | "held";

/** How a program ended. */
export interface LaneLife {
  /** Killed, at its crash point or where it was held; not ended by itself. */
  readonly killed: boolean;
  /** The call after which it was cut off, if it was. */
  readonly point: CrashPoint | null;
  readonly calls: readonly string[];
}

const SERVE_TIMEOUT_MS = 120_000;
const WORK_TIMEOUT_MS = 120_000;
/** Worlds that are opened, or recovered, and programs that are opened, at a time. */
const AT_ONCE = 4;

/** Stories that are played at the same time, chosen by how those before them went. */
export type LaneRound = (lives: readonly LaneLife[]) => readonly LaneStory[];

/**
 * Plays rounds of stories in one process, one round after the other, and kills it when each program is where it has to be; then recovers
 * and checks every world. Returns the lives of all stories in order.
 */
export async function runLanes(options: LaneHostOptions, rounds: readonly LaneRound[]): Promise<LaneLife[]> {
  const stories: LaneStory[] = [];
  const lives: LaneLife[] = [];
  try {
    const host = startLaneHost(options);
    try {
      for (const round of rounds) {
        stories.push(...round(lives));
        lives.push(...(await playRound(host, stories.slice(lives.length), lives.length)));
      }
    } catch (error) {
      throw new Error(`${messageOf(error)}; the last lines of the process:\n${host.lines().slice(-20).join("\n")}`, { cause: error });
    } finally {
      await host.kill();
    }
    await Promise.all(stories.map((story) => story.settle()));
    await inTurns(stories, AT_ONCE, (story, lane) => naming(whereOf(story, lives[lane]), () => recoverAndCheck(story, lives[lane])));
    return lives;
  } finally {
    await inTurns(stories, AT_ONCE, (story) => story.close());
  }
}

async function playRound(host: LaneHost, stories: readonly LaneStory[], firstLane: number): Promise<LaneLife[]> {
  const envs = await inTurns(stories, AT_ONCE, (story) => naming(story.what, () => story.open()));
  // A process that opened all of its programs at once would hear none of their servers in time on a busy machine.
  await inTurns(stories, AT_ONCE, (story, index) => naming(story.what, () => open(host, story, firstLane + index, envs[index] ?? {})));
  return Promise.all(stories.map((story, index) => naming(story.what, () => live(host, story, firstLane + index))));
}

async function open(host: LaneHost, story: LaneStory, lane: number, env: Readonly<Record<string, string>>): Promise<void> {
  await host.open(lane, env, story.afterCall);
  await host.until(() => story.isServing(), "the program to serve", SERVE_TIMEOUT_MS);
}

async function live(host: LaneHost, story: LaneStory, lane: number): Promise<LaneLife> {
  await host.arm(lane);
  await story.handOver();
  const end = await host.until(
    async () => {
      if (host.callsIfCrashed(lane) !== undefined) return "crashed";
      const state = story.state === undefined ? host.hasWorked(lane) && "done" : await story.state();
      return state === "working" ? undefined : state;
    },
    story.awaited ?? "the work to be done",
    WORK_TIMEOUT_MS,
  );
  // Going down makes calls too; being cut off there counts like any other.
  const closed = end === "done" ? await host.close(lane) : undefined;
  if (closed !== undefined) return { killed: false, point: null, calls: closed };
  const calls = host.callsIfCrashed(lane);
  if (calls === undefined) return { killed: true, point: null, calls: [] };
  return { killed: true, point: { number: calls.length, call: calls.at(-1) ?? "" }, calls };
}

async function recoverAndCheck(story: LaneStory, life: LaneLife | undefined): Promise<void> {
  await story.recover();
  await story.check({ crashed: life?.killed === true });
}

function whereOf(story: LaneStory, life: LaneLife | undefined): string {
  return life?.point == null ? story.what : `crash after call ${life.point.number} (${life.point.call})`;
}

async function naming<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new Error(`${what}: ${messageOf(error)}`, { cause: error });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
