import { randomUUID } from "node:crypto";
import { createEffects, type AfterSaveEffect, type EffectEvent } from "@toolctrl/db/after-save-effect";
import type { Database, Prisma } from "@toolctrl/db/client";
import { createRouter, type RouteRule } from "@toolctrl/event-router/router";
import type { QueueBackend } from "@toolctrl/queue/port";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createLogger, type Logger } from "@toolctrl/runtime/logger";
import { createMetrics, type Metrics } from "@toolctrl/runtime/metrics";
import { onTestFinished } from "vitest";
import { createAttempts, type Attempts } from "../../src/attempts.ts";
import type { ClaimedEvent } from "../../src/claimed-event.ts";
import type { HeldBy } from "../../src/held.ts";
import { claimHead, type HeadRequest } from "../../src/pull/claim-head.ts";
import { createPullWorkers, type PullSettings, type PullWorkers } from "../../src/pull-workers.ts";
import { insertEvents, openDatabase } from "../support.ts";

export const PULL_SETTINGS: PullSettings = {
  parallelism: 4,
  intervalMs: 200,
  leaseMs: 60_000,
  lockTimeoutMs: 300,
  maxRetries: 6,
  crashBudget: 6,
};

export type Tx = Prisma.TransactionClient;

/** An effect on every `record.` event. */
export function effectOf(run: (tx: Tx, event: EffectEvent, signal?: AbortSignal) => Promise<void>, name = "test-effect"): AfterSaveEffect {
  return { name, on: ["record."], run };
}

/** A queue that nobody may use. */
export const noQueue: Pick<QueueBackend, "addAll"> = { addAll: () => Promise.reject(new Error("expected no hand-off, got one")) };

interface Overrides {
  readonly settings?: Partial<PullSettings>;
  readonly routes?: readonly RouteRule[];
  readonly backend?: Pick<QueueBackend, "addAll">;
  readonly log?: Logger;
  readonly metrics?: Metrics;
  readonly heldBy?: HeldBy;
}

function depsOf(database: Database, effects: readonly AfterSaveEffect[], overrides: Overrides) {
  const log = overrides.log ?? createLogger({ app: "test", level: "silent" });
  return {
    database,
    router: createRouter(overrides.routes),
    effects: createEffects(effects),
    backend: overrides.backend ?? noQueue,
    settings: { ...PULL_SETTINGS, ...overrides.settings },
    metrics: overrides.metrics ?? createMetrics({ processMetrics: false }),
    alerts: createAlerts({ app: "test", log }),
    log,
    ...(overrides.heldBy === undefined ? {} : { heldBy: overrides.heldBy }),
  };
}

/** Pull workers that are closed at the end of the test. */
export function workersOf(database: Database, effects: readonly AfterSaveEffect[], overrides: Overrides = {}): PullWorkers {
  const workers = createPullWorkers(depsOf(database, effects, overrides));
  onTestFinished(() => workers.close(10_000));
  return workers;
}

export function attemptsOf(database: Database, effects: readonly AfterSaveEffect[], overrides: Overrides = {}): Attempts {
  const attempts = createAttempts(depsOf(database, effects, overrides));
  onTestFinished(() => attempts.close());
  return attempts;
}

/** Log lines of a test, parsed. */
export function collectLog(): { log: Logger; messages(): string[] } {
  const lines: string[] = [];
  const log = createLogger({ app: "test", level: "debug", destination: { write: (line: string) => void lines.push(line) } });
  return { log, messages: () => lines.map((line) => (JSON.parse(line) as { msg: string }).msg) };
}

/** The mode row as the switch leaves it, and a table for effects to write to. */
export async function preparePull(database: Database): Promise<void> {
  await database.pool.query(`UPDATE "OutboxMode" SET "mode" = 'pull', "desired" = 'pull'`);
  await database.pool.query(`CREATE TABLE "Mark" ("n" bigserial, "eventId" uuid, "text" text)`);
  await database.pool.query(`CREATE TABLE "Parent" ("id" text PRIMARY KEY, "value" int NOT NULL DEFAULT 0)`);
}

/** Due events of one record, in order. @returns their ids. */
export function insertRecordEvents(
  database: Database,
  count: number,
  event: { record?: string; type?: string; tenantId?: string; delay?: string; payload?: Record<string, unknown> } = {},
): Promise<string[]> {
  const { record = "1", payload = {}, ...rest } = event;
  return insertEvents(database, count, { type: "record.lead.updated", ...rest, payload: { object: "Lead", recordId: record, ...payload } });
}

/** An effect's write. */
export async function mark(tx: Tx, eventId: string, text = "done"): Promise<void> {
  await tx.$executeRawUnsafe(`INSERT INTO "Mark" ("eventId", "text") VALUES ($1::uuid, $2)`, eventId, text);
}

/** What effects wrote, in commit-independent insert order. */
export async function marks(database: Database): Promise<Array<{ eventId: string; text: string }>> {
  const { rows } = await database.pool.query<{ eventId: string; text: string }>(`SELECT "eventId", "text" FROM "Mark" ORDER BY "n"`);
  return rows;
}

/** A promise that a test resolves by hand. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

/** What a pull worker asks for. */
export const headRequest = (overrides: Partial<HeadRequest> = {}): HeadRequest => ({
  epoch: 1n,
  leaseMs: 60_000,
  lockToken: randomUUID(),
  afterTenant: "",
  afterKeys: {},
  ...overrides,
});

/** A database of its own in pull mode. */
export async function openPull(): Promise<Database> {
  const database = await openDatabase();
  await preparePull(database);
  return database;
}

/** Claims by hand, as a pull worker would. */
export async function claimOne(database: Database): Promise<ClaimedEvent> {
  const claim = await claimHead(database.pool, headRequest());
  if (claim.kind !== "claimed") throw new Error(`expected a claim, got ${claim.kind}`);
  return claim.event;
}
