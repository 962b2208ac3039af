import { withEventCause, type EventCause } from "@toolctrl/db/outbox";
import type { Queryable } from "@toolctrl/db/sql";
import type { PluginFunction, PluginHook, PluginTransaction } from "@toolctrl/domain/plugins";
import { CodedError, errorCodeOf } from "@toolctrl/foundation/errors";
import { createRevocableClient } from "@toolctrl/outbox-drainer/revocable-client";
import { abortAfter, withDeadline } from "@toolctrl/runtime/deadline";

export interface FunctionRun {
  readonly idempotencyKey: string;
  /** Of what the function publishes. It must not be able to lose it: a loop through it would not be seen as one. */
  readonly cause: EventCause;
  readonly signal: AbortSignal;
  readonly deadlineMs: number;
}

const QUERY_CANCELED = "57014";

/**
 * Runs a plugin's function in a transaction, for `deadlineMs` at most. When it has ended, or its time is up, the transaction is taken from it and
 * its calls in flight are awaited, so that it writes nothing into what comes after.
 * @throws what the function throws; CodedError `PLUGIN.TIMEOUT`
 */
export async function runFunction(tx: Queryable, fn: PluginFunction, hook: PluginHook, run: FunctionRun): Promise<void> {
  const { idempotencyKey, deadlineMs } = run;
  // A statement that is still running when the time is up ends too, and with it the wait for it.
  await tx.query(`SELECT set_config('statement_timeout', $1, true)`, [String(deadlineMs)]);
  const revocable = createRevocableClient(tx, () => undefined);
  const deadline = abortAfter(deadlineMs, run.signal);
  const context = { tx: pluginTransactionOf(revocable.client, run.cause), signal: deadline.signal, idempotencyKey };
  try {
    const running = (async () => fn(hook, context))();
    await withDeadline(running, deadlineMs, () => timeout(deadlineMs));
  } catch (error) {
    // Whichever of the two limits was faster.
    throw errorCodeOf(error) === QUERY_CANCELED ? timeout(deadlineMs, error) : error;
  } finally {
    deadline.clear();
    revocable.revoke();
    await revocable.drained();
  }
}

function pluginTransactionOf(client: Queryable, cause: EventCause): PluginTransaction {
  // Async, so that a call that is refused rejects, as one does that fails.
  const tx: Queryable = { query: async (text, values) => client.query(text, values) };
  return withEventCause(tx, cause);
}

function timeout(deadlineMs: number, cause?: unknown): CodedError {
  return new CodedError("PLUGIN.TIMEOUT", `expected the function to end within ${deadlineMs} ms, it did not`, {
    facts: { deadlineMs },
    cause,
  });
}
