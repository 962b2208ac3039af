import type { AfterSaveEffect, EffectEvent } from "@toolctrl/db/after-save-effect";
import { withOutboxReceipt } from "@toolctrl/db/outbox-receiver";
import type { JsonValue } from "@toolctrl/foundation/json";
import type { ClaimedEvent } from "../claimed-event.ts";
import type { AttemptTransaction } from "./attempt-transaction.ts";
import type { EffectReport } from "./effect-report.ts";
import { createRevocableClient } from "./revocable-client.ts";

export interface EffectRun {
  readonly tx: AttemptTransaction;
  readonly event: ClaimedEvent;
  readonly effects: readonly AfterSaveEffect[];
  /** Aborts when the lease is lost. */
  readonly signal: AbortSignal;
  /** Told how each call of a handler ended: with its error, or null. */
  readonly onCall: (error: unknown) => void;
  readonly report: Pick<EffectReport, "watch">;
}

/** Runs the effects in order, each under its receipt: one that was committed before (the event was requeued) is not repeated. */
export async function runEffects(run: EffectRun): Promise<void> {
  const { tx, event, effects, signal } = run;
  const snapshot: EffectEvent = await snapshotOf(tx, event);
  for (const effect of effects) {
    signal.throwIfAborted();
    const replayed = event.replayConsumer === effect.name;
    const scope = {
      eventId: event.id,
      tenantId: event.tenantId,
      consumer: effect.name,
      effectEpoch: replayed ? event.effectEpoch : 0,
      anyEpoch: !replayed,
    };
    await run.report.watch(effect.name, () => withOutboxReceipt(tx, scope, () => runRevocably(run, effect, snapshot)));
  }
}

/** The handler's client ends with the handler: afterwards nothing of it is running, and nothing more can begin. */
async function runRevocably({ tx, signal, onCall }: EffectRun, effect: AfterSaveEffect, snapshot: EffectEvent): Promise<void> {
  const { client, revoke, drained } = createRevocableClient(tx, onCall);
  const onAbort = (): void => revoke(signal.reason as Error);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await effect.run(client, snapshot, signal);
  } finally {
    signal.removeEventListener("abort", onAbort);
    revoke();
    await drained();
  }
}

async function snapshotOf(tx: AttemptTransaction, event: ClaimedEvent): Promise<EffectEvent> {
  return {
    id: event.id,
    tenantId: event.tenantId,
    type: event.eventType,
    payload: event.inline ? event.payload : await readPayload(tx, event.id),
    position: BigInt(event.position),
    recordKey: event.recordKey,
    correlationId: event.correlationId,
    depth: event.depth,
  };
}

async function readPayload(tx: AttemptTransaction, id: string): Promise<JsonValue> {
  const rows = await tx.$queryRawUnsafe<Array<{ payload: string }>>(
    `SELECT "payload"::text AS "payload" FROM "OutboxEvent" WHERE "id" = $1::uuid`,
    id,
  );
  return JSON.parse(rows[0]?.payload ?? "null") as JsonValue;
}
