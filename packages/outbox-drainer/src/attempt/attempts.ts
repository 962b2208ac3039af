import type { EffectsOf } from "@toolctrl/db/after-save-effect";
import type { Database } from "@toolctrl/db/client";
import type { Router } from "@toolctrl/event-router/router";
import type { QueueBackend } from "@toolctrl/queue/port";
import type { Alerts } from "@toolctrl/runtime/alerts";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Metrics } from "@toolctrl/runtime/metrics";
import type { ClaimedEvent } from "../claimed-event.ts";
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
  readonly database: Database;
  readonly router: Router;
  readonly effects: EffectsOf;
  readonly backend: Pick<QueueBackend, "addAll" | "ping">;
  readonly settings: AttemptSettings;
  readonly metrics: Metrics;
  readonly alerts: Alerts;
  readonly log: Logger;
}

/** Runs claimed events to their settlement, each under a heartbeat. Used by pull workers for every event, by the dispatcher for `database` routes. */
export interface Attempts {
  /** Never throws: what goes wrong is in the settlement, or leaves the claim to its lease. */
  run(event: ClaimedEvent): Promise<Settled>;
  /** Ends the connections of the heartbeat; the attempts must have ended. */
  close(graceMs?: number): Promise<void>;
}

export function createAttempts(_deps: AttemptsDeps): Attempts {
  throw new TypeError("expected an implementation, got the contract");
}
