import { CodedError } from "@toolctrl/foundation/errors";

/** Every setting that can put time between the first and the last delivery of one event. */
export interface RetryHorizonSettings {
  /** How long a cached result lives, s. */
  readonly resultTtlSeconds: number;
  /** The dispatcher waits `backoffMinutes[n]` before retry n + 1 (the last entry repeats); each of its tries may lose a whole lease. */
  readonly dispatcher: { readonly maxRetries: number; readonly backoffMinutes: readonly number[]; readonly leaseMs: number };
  /** The queue's exponential backoff: `backoffMs * 2^n` between its attempts. */
  readonly queue: { readonly attempts: number; readonly backoffMs: number };
  /** What is added for waiting in the queue, slow handlers and clocks, s. */
  readonly marginSeconds: number;
}

/** One summand of the horizon. */
interface Summand {
  readonly name: string;
  readonly formula: string;
  readonly seconds: number;
}

/**
 * Checks at boot that a cached result outlives every retry of its event: a result that ends before the last retry lets it run again.
 * @returns the sum in seconds, margin included.
 * @throws CodedError `RECEIVER.TTL_TOO_SHORT` with the whole sum in its message and facts.
 */
export function assertResultTtlCoversHorizon(settings: RetryHorizonSettings): { readonly horizonSeconds: number } {
  const summands = sumUp(settings);
  const horizonSeconds = summands.reduce((total, summand) => total + summand.seconds, 0);
  // Written so that NaN fails too.
  if (settings.resultTtlSeconds > horizonSeconds) return { horizonSeconds };
  throw new CodedError(
    "RECEIVER.TTL_TOO_SHORT",
    `expected the result TTL to exceed the retry horizon, got ${settings.resultTtlSeconds} s against ${horizonSeconds} s:\n` +
      [...summands, { name: "total", formula: "", seconds: horizonSeconds }].map(printSummand).join("\n"),
    { facts: { resultTtlSeconds: settings.resultTtlSeconds, horizonSeconds, summands } },
  );
}

function sumUp({ dispatcher, queue, marginSeconds }: RetryHorizonSettings): Summand[] {
  const waits = Array.from(
    { length: dispatcher.maxRetries },
    (_, n) => dispatcher.backoffMinutes[n] ?? dispatcher.backoffMinutes.at(-1) ?? 0,
  );
  const pauses = Array.from({ length: Math.max(0, queue.attempts - 1) }, (_, n) => queue.backoffMs * 2 ** n);
  const tries = dispatcher.maxRetries + 1;
  return [
    { name: "dispatcher backoff", formula: `${waits.join(" + ") || 0} min`, seconds: 60 * add(waits) },
    { name: "dispatcher leases", formula: `${tries} tries x ${dispatcher.leaseMs} ms`, seconds: (tries * dispatcher.leaseMs) / 1000 },
    { name: "queue backoff", formula: `${pauses.join(" + ") || 0} ms`, seconds: add(pauses) / 1000 },
    { name: "margin", formula: "", seconds: marginSeconds },
  ];
}

function add(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function printSummand({ name, formula, seconds }: Summand): string {
  return `  ${name.padEnd(20)}${String(seconds).padStart(10)} s${formula === "" ? "" : `  = ${formula}`}`;
}
