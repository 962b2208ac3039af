import { isProbe, type JobEnvelope } from "@toolctrl/foundation/envelope";
import { describeError, isCodedError } from "@toolctrl/foundation/errors";
import type { JsonValue } from "@toolctrl/foundation/json";
import { withOutboxIdempotency } from "@toolctrl/outbox-receiver/idempotency";
import type { DeliveredJob, JobOutcome } from "@toolctrl/queue/port";
import { createIdempotencyStore } from "@toolctrl/shared-store";
import type { Consumer, Delivery } from "./define.ts";
import { loadPayload } from "./load-payload.ts";
import { parseJob } from "./parse-job.ts";
import { effectiveEpoch, receiptName } from "./receipt-name.ts";
import type { ConsumerContext } from "./context.ts";

/** How a delivery ended, for the log and the metric; a `duplicate` is a `done` whose handler did not run. */
export type DeliveryEnd = {
  readonly outcome: JobOutcome;
  readonly duplicate: boolean;
  readonly envelope: JobEnvelope | undefined;
};

/** Carries an outcome that is not a result through `withOutboxIdempotency`, so that it releases the claim and records nothing. */
class NotDone extends Error {
  readonly outcome: JobOutcome;
  constructor(outcome: JobOutcome) {
    super(`the handler answered ${outcome.kind}`);
    this.name = "NotDone";
    this.outcome = outcome;
  }
}

/** Runs one job of a consumer under its claim. Never throws: every end is an outcome. */
export async function deliver(consumer: Consumer, job: DeliveredJob, context: ConsumerContext): Promise<DeliveryEnd> {
  let envelope: JobEnvelope | undefined;
  let begun = false;
  const handle: Consumer["handle"] = async (delivery) => ((begun = true), consumer.handle(delivery));
  try {
    envelope = parseJob(job.data);
    return { ...(await deliverEnvelope({ ...consumer, handle }, job, envelope, context)), envelope };
  } catch (error) {
    const outcome = error instanceof NotDone ? error.outcome : outcomeOf(error, job);
    return { outcome: await context.outagePause(outcome, begun && hasManyStarts(job)), duplicate: false, envelope };
  }
}

/** What costs no attempt ends too: so often a delivery may start, and come to no end that counts, before it is taken for the cause itself. */
function hasManyStarts({ starts, maxAttempts }: DeliveredJob): boolean {
  return starts > 3 * maxAttempts;
}

async function deliverEnvelope(consumer: Consumer, job: DeliveredJob, envelope: JobEnvelope, context: ConsumerContext) {
  const { effectEpoch, anyEpoch } = effectiveEpoch(envelope, consumer.name);
  const identity = { tenantId: envelope.tenantId, consumer: receiptName(consumer.name, envelope), effectEpoch };
  const store = createIdempotencyStore({
    ...identity,
    store: context.store,
    prefix: context.backend.prefix,
    ttlSeconds: context.receiver.ttlSeconds,
    claimTtlMs: context.receiver.claimTtlMs,
    receipts: context.receipts({ ...identity, anyEpoch }),
  });
  const base = {
    eventId: envelope.outboxEventId,
    tenantId: envelope.tenantId,
    type: envelope.type,
    effectEpoch,
    envelope,
    failures: job.failures,
    maxAttempts: job.maxAttempts,
  };
  let duplicate = false;
  const result = await withOutboxIdempotency<unknown>(
    store,
    envelope.outboxEventId,
    async (claim) => {
      if (isProbe(envelope)) return answerProbe(consumer, { ...base, payload: null, signal: job.signal });
      const payload = consumer.needsPayload === false ? null : await loadPayload(context.pool, envelope);
      const outcome = await consumer.handle(withSignal({ ...base, payload }, [job.signal, claim.signal]));
      if (outcome.kind !== "done") throw new NotDone(outcome);
      return outcome.result;
    },
    { onDuplicate: () => void (duplicate = true), log: context.log },
  );
  if (duplicate) await passOn(consumer, { ...base, payload: envelope.payload ?? null, signal: job.signal });
  return { outcome: { kind: "done", result } as const, duplicate };
}

/** A probe asks whether it gets here and is finished: it goes on to the next consumer, and the handler, which could reach a person, is not run. */
async function answerProbe(consumer: Consumer, delivery: Delivery): Promise<JsonValue> {
  await passOn(consumer, delivery);
  return { probe: true };
}

/** Joins the signals when the handler first asks: many handlers never do, and joining costs more than the rest of a delivery. */
function withSignal(delivery: Omit<Delivery, "signal">, signals: AbortSignal[]): Delivery {
  let joined: AbortSignal | undefined;
  return {
    ...delivery,
    get signal() {
      return (joined ??= AbortSignal.any(signals));
    },
  };
}

// The receipt may be there although the hand-over to the next consumer was lost with its process.
async function passOn(consumer: Consumer, delivery: Delivery): Promise<void> {
  await consumer.passOn?.(delivery);
}

function outcomeOf(thrown: unknown, job: DeliveredJob): JobOutcome {
  const error = thrown instanceof Error ? thrown : new Error(describeError(thrown));
  if (!isCodedError(error)) return { kind: "retry", error };
  if (error.code === "RECEIVER.IN_PROGRESS") return { kind: "snooze", untilMs: Date.now() + retryAfterMsOf(error.facts) };
  // The delivery that took over may have finished: finding that out must not cost the last attempt. A claim that is lost at every start does.
  if (error.code === "RECEIVER.CLAIM_LOST" && !hasManyStarts(job)) return { kind: "snooze", untilMs: Date.now() + 1000 };
  return error.retry ? { kind: "retry", error } : { kind: "cancel", error };
}

function retryAfterMsOf(facts: Readonly<Record<string, unknown>>): number {
  const value = facts["retryAfterMs"];
  // A claim that has just expired must not make the job spin.
  return typeof value === "number" && Number.isFinite(value) ? Math.max(value, 50) : 1000;
}
