import type { AfterSaveEffect } from "@toolctrl/db/after-save-effect";
import { IN_FAILED_TRANSACTION, LOCK_NOT_AVAILABLE, READ_ONLY_TRANSACTION, sqlStateOf, type Database } from "@toolctrl/db/client";
import type { ClaimedEvent } from "../claimed-event.ts";
import type { Settlement } from "../sql/settle-events.ts";
import { beginAttempt, TRANSACTION_OPTIONS, undoEffects, type AttemptTransaction } from "./attempt-transaction.ts";
import type { EffectReport } from "./effect-report.ts";
import { leaseLost } from "./heartbeat.ts";
import { judgeFailure, judgeNotBegun } from "./judge-failure.ts";
import { runEffects } from "./run-effects.ts";
import { settleInTransaction } from "./settle-in-transaction.ts";

export interface DatabaseAttempt {
  readonly event: ClaimedEvent;
  readonly effects: readonly AfterSaveEffect[];
  /** Aborts when the lease is lost. */
  readonly signal: AbortSignal;
  readonly lockTimeoutMs: number;
  readonly idleInTransactionMs?: number | undefined;
  readonly maxRetries: number;
  readonly parks: boolean;
  readonly report: Pick<EffectReport, "watch">;
}

/**
 * How the transaction ended.
 * - `committed`: the settlement stands. `lost`: the claim had gone, everything was rolled back.
 * - `failed`: the transaction itself did not make it, and whether it committed is unknown; `settlement` is what to write instead, apart.
 */
export interface TransactionEnd {
  readonly kind: "committed" | "lost" | "failed";
  readonly settlement: Settlement;
}

/** Runs an event's effects and its settlement in one transaction. Nothing of the event's own row is written before the settlement. */
export async function runInTransaction(prisma: Database["prisma"], attempt: DatabaseAttempt): Promise<TransactionEnd> {
  const { event } = attempt;
  const progress: Progress = { begun: false, settlement: doneOf(event) };
  try {
    await prisma.$transaction((tx) => runAndSettle(tx, attempt, progress), TRANSACTION_OPTIONS);
    return { kind: "committed", settlement: progress.settlement };
  } catch (error) {
    if (error instanceof ClaimGone) return { kind: "lost", settlement: progress.settlement };
    // That the server takes no writes, the settlement has met too, behind all that the handlers did.
    if (!progress.begun || sqlStateOf(error) === READ_ONLY_TRANSACTION) return { kind: "failed", settlement: judgeNotBegun(event, error) };
    // A failure that was judged before the transaction broke is the one to record.
    const judged = progress.settlement.outcome === "done" ? judgeFailure(event, error, attempt) : progress.settlement;
    return { kind: "failed", settlement: judged };
  }
}

interface Progress {
  /** Whether handlers may have run. */
  begun: boolean;
  /** What the transaction set out to write. */
  settlement: Settlement;
}

/** Says that nothing of this transaction may be kept. */
class ClaimGone extends Error {}

async function runAndSettle(tx: AttemptTransaction, attempt: DatabaseAttempt, progress: Progress): Promise<void> {
  const { event, effects, signal, report } = attempt;
  await beginAttempt(tx, attempt);
  progress.begun = true;
  const calls = watchCalls();
  let settled: boolean;
  try {
    await runEffects({ tx, event, effects, signal, report, onCall: calls.onCall });
    if (signal.aborted) throw leaseLost(event.id);
    settled = await settleInTransaction(tx, progress.settlement);
  } catch (error) {
    if (signal.aborted) throw new ClaimGone("lease lost", { cause: error });
    progress.settlement = judgeFailure(event, calls.causeOf(error), attempt);
    await undoEffects(tx);
    settled = await settleInTransaction(tx, progress.settlement);
  }
  if (!settled) throw new ClaimGone("lease lost");
}

/**
 * Finds the failure behind a failure: after the first one each further statement of the transaction fails with the same words, and a
 * handler may have swallowed the first. A call that succeeds says that a savepoint of the handler's own had saved the transaction.
 */
function watchCalls(): { onCall(error: unknown): void; causeOf(error: unknown): unknown } {
  let last: { readonly error: unknown } | null = null;
  return {
    onCall(error) {
      if (error === null) last = null;
      else if (sqlStateOf(error) !== IN_FAILED_TRANSACTION) last = { error };
    },
    causeOf(error) {
      if (last === null) return error;
      const states = [sqlStateOf(error), sqlStateOf(last.error)];
      return states[0] === IN_FAILED_TRANSACTION || states[1] === LOCK_NOT_AVAILABLE ? last.error : error;
    },
  };
}

function doneOf({ id, lockToken }: ClaimedEvent): Settlement {
  return { id, lockToken, outcome: "done" };
}
