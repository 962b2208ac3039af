import { closeGaps } from "./crash-gaps.ts";
import type { CrashPoint } from "./crash-suite.ts";
import { runLanes, type LaneLife, type LaneStory } from "./run-lanes.ts";
import type { LaneHostOptions } from "./start-lane-host.ts";

export interface CrashLanesOptions extends LaneHostOptions {
  /** A program in a world of its own; `what` of it and where it is cut off are given. */
  readonly story: () => Omit<LaneStory, "what" | "afterCall">;
  /** Other stories that are played beside, in the first process. */
  readonly beside?: readonly LaneStory[];
  /** Cuts off after each `step`-th call only, from the `first` on; default 1, each. */
  readonly step?: number;
  readonly first?: number;
  /** Lanes of a process at a time; default 24. */
  readonly lanes?: number;
}

/**
 * Cuts a program off after its first call, after its second, and so on, until one outlives its crash point: so no call is left out,
 * however many there are. Many copies of it share a process, which is killed when each is where it has to be ({@link runLanes}); each
 * has a world of its own, which recovers and is checked.
 *
 * @returns the points where it was cut off, in order. Throws the first failure, with its crash point in the message; and, where every call
 * was to be a crash point, when a call of the run that outlived them all was none.
 */
export async function crashLanes(options: CrashLanesOptions): Promise<CrashPoint[]> {
  const { step = 1, first = 1, lanes = 24, beside = [] } = options;
  const crashed: CrashPoint[] = [];
  let survivor: readonly string[] | undefined;
  const note = (lives: readonly LaneLife[]): void => {
    crashed.push(...lives.flatMap(({ point }) => (point === null ? [] : [point])));
    survivor ??= lives.find(({ point }) => point === null)?.calls;
  };
  const storiesOf = (afterCalls: readonly number[]): LaneStory[] => afterCalls.map((afterCall) => storyOf(options, afterCall));

  let next = first;
  let expected = 0;
  const [, ...lives] = await runLanes(options, [
    () => storiesOf([Infinity]),
    ([whole]) => {
      // How many calls there are is known now; the point behind the last one is outlived.
      expected = Math.ceil(((whole?.calls.length ?? 0) + 2 - first) / step);
      const count = Math.min(expected, lanes);
      next += count * step;
      return [...storiesOf(numbers(first, step, count)), ...beside];
    },
  ]);
  note(lives.slice(0, lives.length - beside.length));
  while (survivor === undefined) {
    const left = expected - (next - first) / step;
    // A call more than expected may have come in between.
    const afterCalls = numbers(next, step, Math.max(2, Math.min(left, lanes)));
    next += afterCalls.length * step;
    note(await runLanes(options, [() => storiesOf(afterCalls)]));
  }
  if (step === 1) {
    await closeGaps(survivor, crashed, async (afterCalls) =>
      (await runLanes(options, [() => storiesOf(afterCalls)])).map(({ point }) => point),
    );
  }
  return crashed.sort((a, b) => a.number - b.number);
}

function storyOf(options: CrashLanesOptions, afterCall: number): LaneStory {
  const story = options.story();
  return afterCall === Infinity
    ? { ...story, what: "run without a crash" }
    : { ...story, what: `run that was to crash after call ${afterCall}`, afterCall };
}

function numbers(from: number, step: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => from + index * step);
}
