import { transaction } from "@toolctrl/db/client";
import type { Queryable } from "@toolctrl/db/sql";
import { isCodedError } from "@toolctrl/foundation/errors";
import { uuidv7 } from "uuidv7";
import type { Delivery } from "../define.ts";
import {
  abandonIntent,
  beginIntent,
  endIntent,
  holdIntent,
  intentLost,
  postponeIntent,
  settleIntentUncalled,
  type Intent,
} from "../intents.ts";
import { endOfTry } from "./end-of-try.ts";
import type { CallDeps, CallRequest, CallTerms, ExternalCall, Verdict } from "./external-call.ts";
import { judgeAnswer, judgeError } from "./judge-answer.ts";

/**
 * One try at an HTTP call that cannot be taken back, under its intent: whatever comes of it is written there.
 *
 * A call that was begun and never settled is first recorded as `unknown`; while it may still be running, nothing happens. Then, in one
 * transaction, the request is made and the intent moves to `sending` by compare-and-set; the call leaves, and its verdict is settled under the
 * fence. Both transactions lock the intent first, and then what `prepare` and `onSettle` lock.
 * @throws CodedError `RECEIVER.CLAIM_LOST` when another delivery moved the intent; and what the hooks of the call throw
 */
export async function callUnderIntent(delivery: Delivery, intent: Intent, call: ExternalCall, deps: CallDeps): Promise<void> {
  if (intent.state === "sending" && !(await takeOver(intent, call.terms, deps))) return;
  const token = uuidv7();
  const request = await transaction(deps.pool, (tx) => begin(tx, intent, token, call));
  if (request === null) return;
  const verdict = await send(request, call.terms, delivery.signal, deps);
  await settle(delivery, { intent, token, verdict }, call, deps);
}

/** False while the call may still be running: a flushed store gives its event to a second delivery. */
async function takeOver(intent: Intent, terms: CallTerms, deps: CallDeps): Promise<boolean> {
  const abandoned = await abandonIntent(deps.pool, intent.id, deps.deadlineMs, terms.codes.unknown);
  if (abandoned) deps.metrics.add("outbox_outcome_unknown_total", 1, { consumer: terms.consumer });
  return abandoned;
}

/** Null where no call is made: the intent then says why. */
async function begin(tx: Queryable, intent: Intent, token: string, call: ExternalCall): Promise<CallRequest | null> {
  await holdIntent(tx, intent.id);
  const prepared = await call.prepare(tx);
  if (isCodedError(prepared)) {
    const end = { state: "failed", error: prepared } as const;
    await settleIntentUncalled(tx, intent.id, end);
    await call.onSettle?.(tx, { kind: "permanent", error: prepared }, end);
  } else if (!("kind" in prepared)) {
    await beginIntent(tx, intent.id, token);
    return prepared;
  } else if (prepared.kind === "later") {
    await postponeIntent(tx, intent.id, prepared.waitMs);
  } else {
    await settleIntentUncalled(tx, intent.id, { state: "sent" });
  }
  return null;
}

async function send(request: CallRequest, terms: CallTerms, signal: AbortSignal, deps: CallDeps): Promise<Verdict> {
  try {
    return judgeAnswer(await deps.http.request({ ...request, deadlineMs: deps.deadlineMs, signal }), terms, deps);
  } catch (error) {
    return judgeError(error, terms, deps);
  }
}

type Try = { readonly intent: Intent; readonly token: string; readonly verdict: Verdict };

async function settle(delivery: Delivery, { intent, token, verdict }: Try, call: ExternalCall, deps: CallDeps): Promise<void> {
  const { consumer } = call.terms;
  const attempt = intent.attempts + 1;
  const end = endOfTry(verdict, attempt, deps);
  const ours = await transaction(deps.pool, async (tx) => {
    const ended = await endIntent(tx, intent.id, token, end);
    if (ended) await call.onSettle?.(tx, verdict, end);
    else await call.onLost?.(tx, verdict);
    return ended;
  });
  if (verdict.kind === "retry" && verdict.unknown) deps.metrics.add("outbox_outcome_unknown_total", 1, { consumer });
  if (verdict.kind !== "accepted") {
    const facts = { eventId: delivery.eventId, consumer, target: intent.target, attempt, state: end.state };
    deps.log.info({ ...facts, err: verdict.error }, "call not accepted");
  }
  if (!ours) throw intentLost(intent.id, "to be ours at the end of the try");
}
