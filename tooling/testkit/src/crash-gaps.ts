import type { CrashPoint } from "./crash-suite.ts";

/**
 * A call more or less in one of the runs (a look for jobs that came a moment sooner) moves the others' numbers, and may leave one out.
 * Such a one is tried again where it ought to be, until no call of the run that outlived its crash point is without a crash.
 *
 * `run` ends a process after each of these calls; the points it adds to `crashed` are those where one was ended.
 */
export async function closeGaps(
  calls: readonly string[],
  crashed: CrashPoint[],
  run: (afterCalls: readonly number[]) => Promise<ReadonlyArray<CrashPoint | null>>,
): Promise<void> {
  for (const offset of [0, 1, -1, 0, 1, -1]) {
    const gaps = placesLeftOut(calls, crashed);
    if (gaps.length === 0) return;
    const points = await run(gaps.map((place) => Math.max(1, place + 1 + offset)));
    crashed.push(...points.filter((point) => point !== null));
  }
  const names = placesLeftOut(calls, crashed).map((place) => `${place + 1} ${calls[place]}`);
  const made = crashed.map(({ number, call }) => `${number} ${call}`).join("\n");
  if (names.length > 0)
    throw new Error(`expected a crash after each of ${calls.length} calls, got none after ${names.join("; ")}; got\n${made}`);
}

function placesLeftOut(calls: readonly string[], crashed: readonly CrashPoint[]): number[] {
  const ended = crashed.map(({ call }) => withoutIds(call));
  const isLeftOut = (call: string): boolean => {
    const found = ended.indexOf(withoutIds(call));
    if (found !== -1) ended.splice(found, 1);
    return found === -1;
  };
  return calls.flatMap((call, place) => (isLeftOut(call) ? [place] : []));
}

/** What a call says in every run: neither a namespace nor an id of this one. */
function withoutIds(call: string): string {
  return call.replaceAll(/t-[0-9a-f]{12}|[0-9a-f]{8}-[0-9a-f-]{27}/g, "…").slice(0, 60);
}
