import type { Receipt } from "@toolctrl/db/receipts";
import { assertNever } from "@toolctrl/foundation/errors";
import { HELD_CODE } from "../held/hold.ts";
import type { EventRow } from "./find-event.ts";
import type { EventJob } from "./jobs-of-event.ts";
import type { EventAction } from "./list-event-actions.ts";
import type { EventDelivery } from "./list-event-deliveries.ts";
import type { EventIntent } from "./list-event-intents.ts";
import type { EffectRow } from "./list-event-rows.ts";

/** One thing that happened to an event, at a time the database or the queue recorded. */
export interface TraceStep {
  readonly at: Date;
  readonly step:
    | "published"
    | "claimed"
    | "handed-off"
    | "retry"
    | "held"
    | "failed"
    | "cancelled"
    | "job"
    | "effect"
    | "intent"
    | "delivery"
    | "receipt"
    | "action";
  readonly detail: string;
  readonly error: string | null;
}

export interface StepFacts {
  readonly event: Omit<EventRow, "payload">;
  readonly target: string;
  readonly jobs: readonly EventJob[];
  readonly rows: readonly EffectRow[];
  readonly intents: readonly EventIntent[];
  readonly deliveries: readonly EventDelivery[];
  readonly receipts: readonly Receipt[];
  readonly actions: readonly EventAction[];
}

/** The story of an event in order of time. */
export function stepsOfEvent(facts: StepFacts): TraceStep[] {
  const steps = [
    published(facts.event),
    ...facts.jobs.flatMap(jobSteps),
    ...ownSteps(facts.event, facts.target),
    ...facts.rows.map((row) => step(row.createdAt, "effect", `${row.table} ${row.key}${epoch(row.effectEpoch)}`)),
    ...facts.intents.map(intentStep),
    ...facts.deliveries.map(deliveryStep),
    ...facts.receipts.map((receipt) =>
      step(
        receipt.updatedAt,
        "receipt",
        `${receipt.consumer}: ${receipt.outcome}${epoch(receipt.effectEpoch)}`,
        receipt.outcome === "dead" ? receipt.detail : null,
      ),
    ),
    ...facts.actions.flatMap(actionSteps),
  ];
  // A stable sort: of two things at one moment, the one that causes the other was listed first.
  return steps.sort((a, b) => a.at.getTime() - b.at.getTime());
}

function step(at: Date, name: TraceStep["step"], detail: string, error: string | null = null): TraceStep {
  return { at, step: name, detail, error };
}

function published(event: StepFacts["event"]): TraceStep {
  const key = event.dispatchKey === null ? "" : `, dispatch key ${event.dispatchKey}`;
  return step(event.createdAt, "published", `${event.eventType} v${event.version} of tenant ${event.tenantId}${key}`);
}

function ownSteps(event: StepFacts["event"], target: string): TraceStep[] {
  // Of earlier claims only their number is kept.
  const counts = `claimed ${event.attempts} time${event.attempts === 1 ? "" : "s"}, retries ${event.retries}, crashes ${event.crashes}`;
  const error = event.lastError === null ? null : `${event.lastErrorCode ?? "?"}: ${event.lastError}`;
  switch (event.status) {
    case "PENDING":
      return error === null ? [] : [step(event.updatedAt, waitsAs(event), `${counts}; due ${event.scheduledAt.toISOString()}`, error)];
    case "PROCESSING":
      return [
        step(event.updatedAt, "claimed", `${event.claimMode ?? "?"}, ${counts}; until ${event.lockedUntil?.toISOString() ?? "?"}`, error),
      ];
    case "FAILED":
      return [step(event.updatedAt, "failed", counts, error)];
    case "CANCELLED":
      return [step(event.updatedAt, "cancelled", counts, error)];
    case "DONE":
      return [step(event.processedAt ?? event.updatedAt, "handed-off", `to ${target}, ${counts}`)];
    default:
      return assertNever(event.status);
  }
}

function waitsAs({ lastErrorCode }: StepFacts["event"]): "held" | "retry" {
  return lastErrorCode === HELD_CODE ? "held" : "retry";
}

function jobSteps({ queue, jobId, view }: EventJob): TraceStep[] {
  if (view === null) return [];
  const name = `${jobId} in ${queue}`;
  const counts = view.state === "completed" ? `starts ${view.starts}` : `failures ${view.failures}, starts ${view.starts}`;
  return [
    ...(view.addedAt === null ? [] : [step(view.addedAt, "job", `${name} added`)]),
    ...(view.startedAt === null ? [] : [step(view.startedAt, "job", `${name} last started`)]),
    ...(view.finishedAt === null ? [] : [step(view.finishedAt, "job", `${name} ${view.state}, ${counts}`, view.failedReason)]),
  ];
}

function intentStep(intent: EventIntent): TraceStep {
  const target = intent.target === "" ? "" : ` to ${intent.target}`;
  const unknown = intent.unknowns === 0 ? "" : `, outcome unknown ${intent.unknowns} time(s)`;
  const detail = `${intent.consumer}${target}: ${intent.state} as ${intent.externalId}, attempts ${intent.attempts}${unknown}${epoch(intent.effectEpoch)}`;
  const error = intent.lastError === null ? null : `${intent.lastErrorCode ?? "?"}: ${intent.lastError}`;
  return step(intent.sentAt ?? intent.updatedAt, "intent", detail, error);
}

function deliveryStep(delivery: EventDelivery): TraceStep {
  const reply = delivery.reply === null ? null : `${delivery.replyCode ?? ""} ${delivery.reply}`.trim();
  const accepted = delivery.state === "accepted";
  const detail = `${delivery.recipient}: ${delivery.state}, attempts ${delivery.attempts}${accepted && reply !== null ? `, ${reply}` : ""}${epoch(delivery.effectEpoch)}`;
  return step(delivery.updatedAt, "delivery", detail, accepted ? null : reply);
}

function actionSteps(action: EventAction): TraceStep[] {
  const text = (name: string): string | null => {
    const value = action.before?.[name];
    return typeof value === "string" ? value : null;
  };
  const from = text("from") === null ? "" : ` from ${text("from")}`;
  const reason = action.reason === null ? "" : `: ${action.reason}`;
  const error = text("lastError") === null ? null : `had ${text("lastErrorCode") ?? "?"}: ${text("lastError")}`;
  const processedAt = text("processedAt");
  return [
    ...(processedAt === null ? [] : [step(new Date(processedAt), "handed-off", "the time before it was requeued")]),
    step(action.createdAt, "action", `${action.action}${from} by ${action.actor}${reason}`, error),
  ];
}

function epoch(effectEpoch: number): string {
  return effectEpoch === 0 ? "" : ` (repeat ${effectEpoch})`;
}
