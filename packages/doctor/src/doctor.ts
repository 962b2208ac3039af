import {
  createEvictionCondition,
  createPersistenceCondition,
  createResultTtlCondition,
  createSchemaCondition,
} from "@toolctrl/consumer-map/gate";
import type { BoundedPool } from "@toolctrl/db/client";
import type { RetryHorizonSettings } from "@toolctrl/outbox-receiver/horizon";
import type { QueueBackend } from "@toolctrl/queue/port";
import type { Check } from "./check.ts";
import { createAutovacuumCheck } from "./checks/autovacuum.ts";
import { createDatabaseClockCheck, createQueueClockCheck } from "./checks/clock.ts";
import { createConsumersCheck } from "./checks/consumers.ts";
import { createDrainersCheck } from "./checks/drainers.ts";
import { createEnvironmentCheck } from "./checks/environment.ts";
import { createIndexesCheck } from "./checks/indexes.ts";
import { createLongTransactionsCheck } from "./checks/long-transactions.ts";
import { createMigrationsCheck } from "./checks/migrations.ts";
import { createPoolerModeCheck } from "./checks/pooler-mode.ts";
import { createQueueServerCheck } from "./checks/queue-server.ts";
import { createReceiptsCheck } from "./checks/receipts.ts";
import { createRecordKeysCheck } from "./checks/record-keys.ts";
import { createRedisMemoryCheck } from "./checks/redis-memory.ts";
import { createRetentionCheck } from "./checks/retention.ts";
import { createServerVersionCheck } from "./checks/server-version.ts";
import { createTimeZoneCheck } from "./checks/time-zone.ts";
import { ofCondition } from "./of-condition.ts";

export { runChecks } from "./run-checks.ts";

export interface DoctorDeps {
  /** A few connections of the doctor's own. */
  readonly pool: BoundedPool;
  readonly url: string;
  readonly directUrl: string | undefined;
  readonly backend: Pick<QueueBackend, "kind" | "prefix" | "ping" | "clockSkewMs" | "evictionPolicy" | "persistence" | "serverInfo">;
  /** The workers' settings. */
  readonly horizon: RetryHorizonSettings;
  readonly retentionHours: number;
  /** How long a transaction may be open, ms. */
  readonly maxTransactionMs: number;
}

/** Every check of an installation, in the order in which they are shown. Nothing is asked yet. */
export function createChecks(deps: DoctorDeps): readonly Check[] {
  const { pool, url, directUrl, backend, horizon, retentionHours } = deps;
  return [
    createEnvironmentCheck(pool, backend),
    createServerVersionCheck(pool),
    createTimeZoneCheck({ pool, url }),
    createPoolerModeCheck({ url, directUrl }),
    createDatabaseClockCheck(pool),
    createMigrationsCheck(directUrl ?? url),
    ofCondition(createSchemaCondition(pool), { holds: "what the migrations make" }),
    createRecordKeysCheck(pool),
    createIndexesCheck(pool),
    createAutovacuumCheck(pool),
    createLongTransactionsCheck(pool, deps.maxTransactionMs),
    createQueueServerCheck(backend),
    ofCondition(createEvictionCondition(backend), { holds: "nothing is evicted" }),
    ofCondition(createPersistenceCondition(backend), { holds: "every change is written to a file" }),
    createRedisMemoryCheck(backend),
    createQueueClockCheck(backend),
    ofCondition(createResultTtlCondition(horizon), { holds: "outlives every retry" }),
    createDrainersCheck(pool),
    createConsumersCheck(pool),
    createRetentionCheck(pool, retentionHours),
    createReceiptsCheck(pool, retentionHours),
  ];
}
