import { closeGaps } from "./crash-gaps.ts";
import { crashPoints, type CrashPointOptions, type CrashPointRun } from "./crash-run.ts";
import { inTurns } from "./in-turns.ts";
import type { ChildHandle } from "./process.ts";
import { waitFor } from "./wait.ts";

/** One process and its work, to be ended at each of its calls. Every run has a world (database, queue, …) of its own. */
export interface CrashSuite<World> {
  open(): Promise<World>;
  /** Starts the process, counts from where its work begins, and gives it its work; may throw when it has died meanwhile. */
  start(world: World, points: Pick<CrashPointRun, "nodeArgs" | "env">): Promise<ChildHandle>;
  /** Whether the process has finished its work, as far as the world shows. */
  isDone(world: World): Promise<boolean>;
  /** What the product does by itself after the process is gone, time included. */
  recover(world: World): Promise<void>;
  /** Throws where the world is not as it has to be; `crashed` is false after a run that ended by itself. */
  check(world: World, run: { readonly crashed: boolean }): Promise<void>;
  close(world: World): Promise<void>;
}

export interface CrashSuiteOptions extends Pick<CrashPointOptions, "ports" | "ignore" | "arm"> {
  /** Ends the process after each `step`-th call only, from the `first` on; default 1, each. */
  step?: number;
  first?: number;
  /** Processes at a time; default 2. */
  atOnce?: number;
}

/** Where a process was ended: the number of the call, from 1, and its description. */
export interface CrashPoint {
  readonly number: number;
  readonly call: string;
}

const DONE_TIMEOUT_MS = 40_000;

/**
 * Runs the process once without a crash, then ends it after its first call, after its second, and so on, until a run outlives its crash
 * point: so no call is left out, however many there are. Each run recovers and is checked.
 *
 * @returns the points where it was ended, in order. Throws the first failure, with its crash point in the message; and, where every call
 * was to be a crash point, when a call of the run that outlived them all was none: calls that change places hide behind one another.
 */
export async function crashAfterEachCall<World>(suite: CrashSuite<World>, options: CrashSuiteOptions): Promise<CrashPoint[]> {
  const { step = 1, first = 1, atOnce = 2, ...points } = options;
  const run = (afterCall?: number): Promise<Life> => runOnce(suite, { ...points, ...(afterCall === undefined ? {} : { afterCall }) });
  await run();
  const crashed: CrashPoint[] = [];
  let survivor: readonly string[] | undefined;
  let failed = false;
  let next = first;
  const runOn = async (): Promise<void> => {
    while (survivor === undefined && !failed) {
      const afterCall = next;
      next += step;
      const life = await run(afterCall).catch((error: unknown) => {
        failed = true;
        throw error;
      });
      if (life.point === null) survivor = life.calls;
      else crashed.push(life.point);
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: atOnce }, runOn));
  const failure = ends.find((end) => end.status === "rejected");
  if (failure !== undefined) throw failure.reason;
  if (step === 1) {
    await closeGaps(survivor ?? [], crashed, (afterCalls) =>
      inTurns(afterCalls, atOnce, async (afterCall) => (await run(afterCall)).point),
    );
  }
  return crashed.sort((a, b) => a.number - b.number);
}

interface Life {
  /** Where the process was ended, or null when it ended by itself. */
  readonly point: CrashPoint | null;
  readonly calls: readonly string[];
}

async function runOnce<World>(suite: CrashSuite<World>, options: CrashPointOptions): Promise<Life> {
  const world = await suite.open();
  let where = options.afterCall === undefined ? "run without a crash" : `run that was to crash after call ${options.afterCall}`;
  try {
    const points = crashPoints(options);
    const point = await live(suite, world, points);
    if (point !== null) where = `crash after call ${point.number} (${point.call})`;
    await suite.recover(world);
    await suite.check(world, { crashed: point !== null });
    return { point, calls: await points.calls() };
  } catch (error) {
    throw new Error(`${where}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  } finally {
    await suite.close(world);
  }
}

/** The life of one process; where it was ended, or null when it ended by itself. */
async function live<World>(
  suite: CrashSuite<World>,
  world: World,
  points: Pick<CrashPointRun, "nodeArgs" | "env">,
): Promise<CrashPoint | null> {
  const child = await suite.start(world, points);
  let ended = false;
  const exit = child.waitForExit({ timeoutMs: 2 * DONE_TIMEOUT_MS });
  exit.then(
    () => (ended = true),
    () => (ended = true),
  );
  try {
    await waitFor(async () => ended || (await suite.isDone(world)), { timeoutMs: DONE_TIMEOUT_MS, what: "the work to be done" });
  } catch (error) {
    throw new Error(`${String(error)}; last lines of the process:\n${child.lines().slice(-20).join("\n")}`, { cause: error });
  }
  // Going down makes calls too; a crash there counts like any other.
  if (!ended) child.kill("SIGTERM");
  const { code, signal } = await exit;
  const crash = child
    .lines()
    .map((line) => /^crash point (\d+): (.*)$/.exec(line))
    .find((match) => match !== null);
  if (signal === "SIGKILL" && crash !== undefined) return { number: Number(crash[1]), call: crash[2] ?? "" };
  if (code === 0) return null;
  throw new Error(
    `expected the process to end at its crash point or with 0, got ${code ?? signal}:\n${child.lines().slice(-20).join("\n")}`,
  );
}
