import type { EffectsOf } from "@toolctrl/db/after-save-effect";
import { LOCK_NOT_AVAILABLE, type Database } from "@toolctrl/db/client";
import type { Router } from "@toolctrl/event-router/router";
import { inSpan, SpanKind, type SpanOptions } from "@toolctrl/tracing/spans";
import type { QueueBackend } from "@toolctrl/queue/port";
import type { Alerts } from "@toolctrl/runtime/alerts";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Metrics } from "@toolctrl/runtime/metrics";
import type { ClaimedEvent } from "../claimed-event.ts";
import { runInTransaction } from "./database-attempt.ts";
import { createEffectReport } from "./effect-report.ts";
import type { Settlement } from "../sql/settle-events.ts";
import { createHeartbeat, type Protection } from "./heartbeat.ts";
import { createLockPatience } from "./lock-patience.ts";
import { createQueueAttempt } from "./queue-attempt.ts";
import { settleApart } from "./settle-apart.ts";
import type { Settled } from "./settled.ts";

/** How attempts work; all times in ms. */
export interface AttemptSettings {
  readonly leaseMs: number;
  /** Longest wait of an attempt for a row lock (`OUTBOX_LOCK_TIMEOUT_MS`). */
  readonly lockTimeoutMs: number;
  /** Failures an event may have before the next one is its last. */
  readonly maxRetries: number;
  /** Attempts that run at once: it sizes what they share. */
  readonly parallelism: number;
  /** A stopped attempt keeps its row locks for so long at most; default that of the connection. */
  readonly idleInTransactionMs?: number;
}

export interface AttemptsDeps {
  /** Its pool needs a connection for each attempt at once, and some for claims. */
  readonly database: Database;
  readonly router: Router;
  readonly effects: EffectsOf;
  readonly backend: Pick<QueueBackend, "addAll">;
  readonly settings: AttemptSettings;
  readonly metrics: Metrics;
  readonly alerts: Alerts;
  readonly log: Logger;
}

export interface AttemptOptions {
  /** Whether the event was claimed some time ago: the lease is then prolonged before anything else. */
  readonly waited?: boolean;
  /**
   * Once this has aborted, the claim is prolonged no longer, also that of an attempt that begins afterwards. It goes on with what is left
   * of its lease; after that somebody else may have the event.
   */
  readonly prolongUntil?: AbortSignal;
}

/** Runs claimed events to their settlement, each under a heartbeat: every event of the pull workers, those of `database` routes of the dispatcher. */
export interface Attempts {
  /** Whether an event needs an attempt of its own: its route is `database`, and effects are registered for it. */
  takes(eventType: string): boolean;
  /** Never throws: what goes wrong is in the settlement, or leaves the claim to its lease. */
  run(event: ClaimedEvent, options?: AttemptOptions): Promise<Settled>;
  /** Ends the connections of the heartbeat; the attempts must have ended. */
  close(graceMs?: number): Promise<void>;
}

/** A heartbeat waits for the row lock of the settlement at most; both are short. */
const HEARTBEAT_LIMITS = { connectTimeoutMs: 5_000, lockTimeoutMs: 2_000, idleInTransactionMs: 10_000, silenceMs: 5_000 };
const HEARTBEAT_CONNECTIONS = 3;

export function createAttempts(deps: AttemptsDeps): Attempts {
  const { database, router, effects, settings, log } = deps;
  const { leaseMs, maxRetries } = settings;
  const apart = database.openPool({ max: HEARTBEAT_CONNECTIONS, name: "heartbeat", limits: HEARTBEAT_LIMITS });
  const heartbeat = createHeartbeat({ pool: apart, leaseMs, log });
  const patience = createLockPatience(settings);
  const handOffOne = createQueueAttempt({ ...deps, maxRetries });
  const takes = (eventType: string): boolean => router(eventType)?.target === "database" && effects(eventType).length > 0;

  async function run(event: ClaimedEvent, { waited = false, prolongUntil }: AttemptOptions = {}): Promise<Settled> {
    const protection = heartbeat.protect(event, prolongUntil);
    try {
      if (waited && !(await isStillOurs(protection))) return lostBefore(event);
      return takes(event.eventType) ? await runEffectsOf(event, protection) : await runHandOff(event);
    } finally {
      protection.stop();
    }
  }

  function runEffectsOf(event: ClaimedEvent, protection: Protection): Promise<Settled> {
    return inSpan(`process ${event.eventType}`, attemptSpan(event), async (span) => {
      const settled = await runEffectsTraced(event, protection);
      span.setAttribute("toolctrl.outcome", settled.fate === "lost" ? "lost" : settled.settlement.outcome);
      return settled;
    });
  }

  async function runEffectsTraced(event: ClaimedEvent, { signal }: Protection): Promise<Settled> {
    const parks = router(event.eventType)?.deadHead === "park";
    const { lockTimeoutMs, end } = patience();
    const { idleInTransactionMs } = settings;
    const report = createEffectReport(deps.metrics);
    const attempt = { event, effects: effects(event.eventType), signal, lockTimeoutMs, idleInTransactionMs, maxRetries, parks, report };
    const { kind, settlement } = await runInTransaction(database.prisma, attempt);
    report.end(kind === "committed" ? outcomeOf(settlement) : "retry");
    end("errorCode" in settlement && settlement.errorCode === LOCK_NOT_AVAILABLE);
    if (kind === "failed") return settleApart(apart, event, settlement, log);
    return { settlement, fate: kind === "lost" ? "lost" : "kept" };
  }

  async function runHandOff(event: ClaimedEvent): Promise<Settled> {
    return settleApart(database.pool, event, await handOffOne(event), log);
  }

  return { takes, run, close: (graceMs = 1_000) => apart.endWithin(graceMs) };
}

/** A later attempt links to what it continues, so that attempts can be told from what one of them did. */
function attemptSpan(event: ClaimedEvent): SpanOptions {
  return {
    kind: SpanKind.CONSUMER,
    parent: event,
    links: event.attempts > 1 ? [event] : [],
    attributes: {
      "messaging.system": "toolctrl_outbox",
      "messaging.operation.name": "process",
      "messaging.operation.type": "process",
      "messaging.message.id": event.id,
      "toolctrl.try": event.attempts,
    },
  };
}

/** A beat that got no answer leaves it to the settlement's fence. */
async function isStillOurs(protection: Protection): Promise<boolean> {
  return protection.beat().catch(() => true);
}

/** As the outcomes of deliveries are called. */
function outcomeOf({ outcome }: Settlement): Parameters<ReturnType<typeof createEffectReport>["end"]>[0] {
  return outcome === "dead" ? "cancel" : outcome;
}

function lostBefore({ id, lockToken }: ClaimedEvent): Settled {
  return { settlement: { id, lockToken, outcome: "done" }, fate: "lost" };
}
