import type { Queryable } from "@toolctrl/db/sql";
import type { Router } from "@toolctrl/event-router/router";
import { CodedError } from "@toolctrl/foundation/errors";
import type { QueueBackend } from "@toolctrl/queue/port";
import { databaseNow } from "../actions/database-now.ts";
import { NOTHING_HELD, type HeldBy } from "../held/hold.ts";
import { findHeadBefore } from "../lines/find-head-before.ts";
import { readMode } from "../sql/read-mode.ts";
import { findEvent, type EventRow } from "./find-event.ts";
import { findQueueMismatch } from "./find-queue-mismatch.ts";
import { jobsOfEvent, type EventJob } from "./jobs-of-event.ts";
import { judgeEvent, type Verdict } from "./judge-event.ts";
import { listEventActions, type EventAction } from "./list-event-actions.ts";
import { listEventDeliveries, type EventDelivery } from "./list-event-deliveries.ts";
import { listEventIntents, type EventIntent } from "./list-event-intents.ts";
import { listReceipts, type Receipt } from "@toolctrl/db/receipts";
import { listEventRows, type EffectRow } from "./list-event-rows.ts";
import { listLiveProcesses } from "./list-live-processes.ts";
import { stepsOfEvent, type TraceStep } from "./steps-of-event.ts";

export type { TraceStep } from "./steps-of-event.ts";

/** The whole story of an event. Times are the database's and the queue's own. */
export interface EventTrace {
  readonly event: Omit<EventRow, "payload">;
  readonly route: { readonly prefix: string; readonly target: string; readonly consumers: readonly string[] } | null;
  readonly verdict: Verdict;
  readonly steps: readonly TraceStep[];
  readonly jobs: readonly EventJob[];
  readonly receipts: readonly Receipt[];
  readonly intents: readonly EventIntent[];
  readonly deliveries: readonly EventDelivery[];
  readonly effects: readonly EffectRow[];
  readonly actions: readonly EventAction[];
}

/**
 * Tells an event's story: published, claimed, handed off, its jobs, what its consumers wrote and called, receipts, operator actions.
 * Works with the queue's server away, and with another queue than the live processes have; the jobs then carry the error.
 * @throws CodedError `DB.EVENT_NOT_FOUND`
 */
export async function traceEvent(
  deps: { db: Queryable; router: Router; backend: Pick<QueueBackend, "find" | "kind" | "prefix">; heldBy?: HeldBy },
  id: string,
): Promise<EventTrace> {
  const { db, heldBy = NOTHING_HELD } = deps;
  const found = await findEvent(db, id);
  if (found === null) throw new CodedError("DB.EVENT_NOT_FOUND", `expected an event with id ${id}, got none`, { facts: { id } });
  const { payload: _payload, ...event } = found;
  const rule = deps.router(event.eventType);
  const target = rule === null ? "a queue that is unknown here" : rule.target === "queue" ? rule.queue : "database";
  const receipts = await listReceipts(db, id);
  const intents = await listEventIntents(db, id);
  const processes = await listLiveProcesses(db);
  const mismatch = findQueueMismatch(processes, deps.backend);
  // A job that is not in the wrong queue is not lost.
  const queue = mismatch === null ? deps.backend : { find: () => Promise.reject(mismatch) };
  const jobs = await jobsOfEvent(queue, rule, event, intents);
  const deliveries = await listEventDeliveries(db, id);
  const effects = await listEventRows(db, id);
  const actions = await listEventActions(db, id);
  // The dispatcher waits for no head, and holds no route.
  const pulled = event.status === "PENDING" && (await readMode(db)).mode === "pull";
  const before = pulled ? await findHeadBefore(db, id) : null;
  const hold = pulled && rule !== null ? heldBy(rule) : null;
  const servers = processes.filter((entry) => entry.queues.includes(target)).length;
  const drainers = processes.filter((entry) => entry.drains).length;
  return {
    event,
    route: rule === null ? null : { prefix: rule.prefix, target, consumers: rule.consumers },
    verdict: judgeEvent({ event, now: await databaseNow(db), route: rule, receipts, jobs, servers, drainers, before, hold }),
    steps: stepsOfEvent({ event, target, jobs, rows: effects, intents, deliveries, receipts, actions }),
    jobs,
    receipts,
    intents,
    deliveries,
    effects,
    actions,
  };
}
