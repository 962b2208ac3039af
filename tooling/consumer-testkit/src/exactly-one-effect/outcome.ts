import { receiptsOf, type Installation } from "../installation.ts";
import type { AnySubject } from "../subject.ts";
import { runnerOf } from "./runner.ts";

/** What came of an event. */
export interface Outcome {
  readonly effects: number;
  /** The ids under which the other side was called; undefined of a consumer that calls nobody. */
  readonly calls: readonly string[] | undefined;
  /** Calls whose outcome was recorded as unknown. */
  readonly unknowns: number;
  /** The consumer's receipts of the event, with the outcome of each. */
  readonly receipts: readonly string[];
  /** Deliveries whose handler was not even run, by the count of this process; undefined where nobody counts them. */
  readonly suppressed: number | undefined;
  /** Attempts that its deliveries have used. */
  readonly attempts: number;
}

/** What has to be, beyond one effect, one receipt and no attempt used. */
export interface Expected {
  readonly suppressed?: number;
  /** Of a process that was killed: the calls that the other side had seen by then. */
  readonly callsOfDead?: number;
}

export async function outcomeOf(
  installation: Installation,
  subject: AnySubject,
  eventId: string,
  deliveries: readonly string[],
): Promise<Outcome> {
  const { name } = subject;
  const runner = runnerOf(subject);
  const { rows } = await installation.database.pool.query<{ unknowns: number }>(
    `SELECT COALESCE(sum("unknowns"), 0)::int AS "unknowns" FROM "OutboxIntent" WHERE "eventId" = $1 AND "consumer" = $2`,
    [eventId, name],
  );
  return {
    effects: await subject.effects(installation, eventId),
    calls: await subject.calls?.(installation, eventId),
    unknowns: rows[0]?.unknowns ?? 0,
    receipts: (await receiptsOf(installation, eventId)).filter((receipt) => receipt.startsWith(`${name} `)),
    suppressed: await runner.suppressedOf(installation),
    attempts: await runner.attemptsOf(installation, deliveries),
  };
}

/** What is not as it has to be: nothing, when there is exactly one effect. */
export function problemsOf(outcome: Outcome, name: string, expected: Expected = {}): string[] {
  const { effects, calls, receipts, suppressed, attempts } = outcome;
  const problems = calls === undefined ? [] : problemsOfCalls(calls, outcome.unknowns, expected);
  if (calls === undefined && effects !== 1) problems.push(`expected 1 effect, got ${effects}`);
  if (receipts.join() !== `${name} done`) problems.push(`expected the receipt "${name} done", got ${listOf(receipts)}`);
  if (expected.suppressed !== undefined && suppressed !== undefined && suppressed !== expected.suppressed)
    problems.push(`expected ${expected.suppressed} deliveries to be suppressed, got ${suppressed}`);
  if (attempts !== 0) problems.push(`expected no attempt to be used, got ${attempts}`);
  return problems;
}

/** One id in all calls; and as many calls as one, and a repeat for each that is recorded as unknown and had reached the other side. */
function problemsOfCalls(calls: readonly string[], unknowns: number, { callsOfDead }: Expected): string[] {
  const ids = new Set(calls);
  const problems = ids.size === 1 ? [] : [`expected calls under one id, got ${ids.size} ids: ${listOf([...ids])}`];
  // Caution without a repeat is right: the process may have ended between its note that it calls and its call.
  const repeats = callsOfDead === undefined || callsOfDead === 0 ? 0 : unknowns;
  if (calls.length !== 1 + repeats)
    problems.push(`expected ${1 + repeats} calls, as many repeats as are recorded as unknown, got ${calls.length}`);
  const mostUnknowns = callsOfDead === undefined ? 0 : 1;
  if (unknowns > mostUnknowns) problems.push(`expected at most ${mostUnknowns} calls of unknown outcome, got ${unknowns}`);
  return problems;
}

/** An outcome in a line. */
export function describeOutcome({ effects, calls, unknowns, receipts, suppressed, attempts }: Outcome): string {
  const what =
    calls === undefined ? `effects: ${effects}` : `calls: ${calls.length} under ${new Set(calls).size} id(s), unknown: ${unknowns}`;
  const counted = suppressed === undefined ? "" : ` suppressed: ${suppressed};`;
  return `${what}; receipts: ${listOf(receipts)};${counted} attempts used: ${attempts}`;
}

function listOf(items: readonly string[]): string {
  return items.length === 0 ? "none" : items.join(", ");
}
