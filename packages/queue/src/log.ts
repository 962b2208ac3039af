import { describeError, errorCodeOf } from "@toolctrl/foundation/errors";
import type { Logger } from "@toolctrl/runtime/logger";

/** The part of a logger that this package uses. */
export type QueueLog = Pick<Logger, "debug" | "info" | "warn" | "error">;

export type ErrorReporter = (error: unknown) => void;

const REPEAT_MS = 10_000;
const MAX_KNOWN = 100;

/**
 * An `error` listener for connections, queues and workers: an emitter without one ends the process.
 * While a server is away the same error comes many times a second, so each is logged once in ten seconds, with its count.
 */
export function createErrorReporter(log: QueueLog, facts: Record<string, unknown>, message: string): ErrorReporter {
  const known = new Map<string, { loggedAt: number; repeated: number }>();
  return (error) => {
    const text = describeError(error, 300);
    // Ids and ports differ from one error to the next of the same kind.
    const key = `${errorCodeOf(error)} ${text.replaceAll(/\d+|[0-9a-f]{8}-[0-9a-f-]{27}/g, "#")}`;
    const now = performance.now();
    const seen = known.get(key);
    if (seen !== undefined && now - seen.loggedAt < REPEAT_MS) {
      seen.repeated += 1;
      return;
    }
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(key, { loggedAt: now, repeated: 0 });
    log.warn({ ...facts, code: errorCodeOf(error), error: text, ...(seen?.repeated ? { repeated: seen.repeated } : {}) }, message);
  };
}
