import { randomUUID } from "node:crypto";
import type { Delivery } from "@toolctrl/consumer/define";
import { endOfTry, type Verdict } from "@toolctrl/consumer/external-call";
import { beginIntent, endIntent, intentLost, settleIntentUncalled, type Intent, type IntentEnd } from "@toolctrl/consumer/intents";
import { lockSnooze } from "@toolctrl/consumer/lock-snooze";
import { receiptScopeOf } from "@toolctrl/consumer/receipt-name";
import { transaction } from "@toolctrl/db/client";
import { outboxTransactionOf } from "@toolctrl/db/outbox";
import { withOutboxReceipt } from "@toolctrl/db/outbox-receiver";
import type { Queryable } from "@toolctrl/db/sql";
import type { PluginFunction, PluginTarget } from "@toolctrl/domain/plugins";
import { CodedError, errorCodeOf, isCodedError } from "@toolctrl/foundation/errors";
import type { JobOutcome } from "@toolctrl/queue/port";
import { causedBy } from "../caused-by.ts";
import { hookPayload } from "./hook-payload.ts";
import { PLUGIN_INVOKE, type PluginInvokeDeps } from "./invocation.ts";
import { runFunction } from "./run-function.ts";
import { settleInvocation } from "./settle-invocation.ts";

type FunctionTarget = Extract<PluginTarget, { kind: "function" }>;

/**
 * One run of a plugin's function: what it writes, its receipt and its intent commit together, so it is there exactly once. What it throws rolls
 * all of that back, and is written to the intent as a failed try.
 * @returns an outcome where the function could not be run now, which is no try; else null, and the intent says how it ended
 * @throws what stopped the delivery: a lost claim, a stopping worker, a database that is away
 */
export async function callFunction(
  delivery: Delivery,
  intent: Intent,
  target: FunctionTarget,
  deps: PluginInvokeDeps,
): Promise<JobOutcome | null> {
  const fn = Object.hasOwn(deps.functions, target.functionName) ? deps.functions[target.functionName] : undefined;
  if (fn === undefined) {
    await settleUncalled(delivery, intent, unknownFunction(target), deps);
    return null;
  }
  try {
    await transaction(deps.pool, (tx) => attempt(tx, fn, { delivery, intent, target }, deps));
  } catch (error) {
    delivery.signal.throwIfAborted();
    if (errorCodeOf(error) === "RECEIVER.CLAIM_LOST") throw error;
    const snooze = lockSnooze(error);
    if (snooze !== null) return snooze;
    await settleFailure(delivery, intent, error, deps);
  }
  return null;
}

interface Invocation {
  readonly delivery: Delivery;
  readonly intent: Intent;
  readonly target: FunctionTarget;
}

async function attempt(tx: Queryable, fn: PluginFunction, { delivery, intent, target }: Invocation, deps: PluginInvokeDeps): Promise<void> {
  const { eventId, tenantId, type } = delivery;
  // No trace: publishing takes that of the span which is active then, and the function may have one of its own.
  const { causationId, correlationId, depth } = causedBy(delivery);
  const hook = {
    eventId,
    tenantId,
    type,
    payload: hookPayload(delivery.payload),
    createdAt: delivery.envelope.createdAt,
    depth,
    pluginId: target.pluginId,
    subscriptionId: target.id,
  };
  // The receipt first: a rival delivery waits on its key until this transaction ends, and then finds it done.
  await withOutboxReceipt(outboxTransactionOf(tx), receiptScopeOf(PLUGIN_INVOKE, delivery), async () => {
    const cause = { causationId, correlationId, depth };
    await runFunction(tx, fn, hook, { idempotencyKey: intent.externalId, cause, signal: delivery.signal, deadlineMs: deps.deadlineMs });
    await moveIntent(tx, intent, { state: "sent" });
    await settleInvocation(tx, delivery, { state: "sent" });
  });
}

/** `pending` → its end in one transaction: nobody sees it `sending`, as there is no call whose outcome could be lost. */
async function moveIntent(tx: Queryable, intent: Intent, end: IntentEnd): Promise<void> {
  const token = randomUUID();
  await beginIntent(tx, intent.id, token);
  if (!(await endIntent(tx, intent.id, token, end))) throw intentLost(intent.id, "to be ours at the end of the try");
}

async function settleFailure(delivery: Delivery, intent: Intent, thrown: unknown, deps: PluginInvokeDeps): Promise<void> {
  const attempt = intent.attempts + 1;
  const end = endOfTry(judge(thrown), attempt, deps);
  await transaction(deps.pool, async (tx) => {
    await moveIntent(tx, intent, end);
    await settleInvocation(tx, delivery, end);
  });
  const facts = { eventId: delivery.eventId, consumer: PLUGIN_INVOKE, target: intent.target, attempt, state: end.state };
  deps.log.info({ ...facts, err: thrown }, "call not accepted");
}

function judge(thrown: unknown): Verdict {
  const code = errorCodeOf(thrown);
  if (isCodedError(thrown) && !thrown.retry) return { kind: "permanent", error: thrown };
  const error = isCodedError(thrown)
    ? thrown
    : new CodedError("PLUGIN.FAILED", `expected the function to end, got ${code}`, { facts: { code }, cause: thrown });
  return { kind: "retry", error, unknown: false, askedMs: null };
}

async function settleUncalled(delivery: Delivery, intent: Intent, error: CodedError, deps: PluginInvokeDeps): Promise<void> {
  const end = { state: "failed", error } as const;
  await transaction(deps.pool, async (tx) => {
    if (!(await settleIntentUncalled(tx, intent.id, end))) throw intentLost(intent.id, "to be pending or unknown");
    await settleInvocation(tx, delivery, end);
  });
}

function unknownFunction({ id, pluginId, functionName }: FunctionTarget): CodedError {
  return new CodedError(
    "PLUGIN.UNKNOWN_FUNCTION",
    `expected the worker to have a function ${functionName} for plugin ${pluginId}, got none`,
    {
      facts: { subscriptionId: id, pluginId, functionName },
    },
  );
}
