import { randomUUID } from "node:crypto";
import type { Database } from "@toolctrl/db/client";
import { publishOutboxEvent, publishOutboxEvents } from "@toolctrl/db/outbox";
import { EFFECT_KINDS, type EffectKind } from "./effect-kinds.ts";
import { writeIntent, type PrismaTx, type SampleScope } from "./intents.ts";
import { isMessageKind, MESSAGE_KINDS, messageFor } from "./messages.ts";
import { changeRecord, writeRecords } from "./records.ts";

export const TENANTS = ["acme", "globex"] as const;
/** The SMTP catcher refuses this mailbox for good. */
export const DEAD_MAILBOX = "nobody@refused.example";

export interface TrafficReport {
  published: number;
  rolledBack: number;
  duplicatesSuppressed: number;
  /** Events that must end dead: one without a route, one whose mailbox does not exist. */
  mustDie: number;
}

/** What a business case does, by its number: most commit, some roll back, some repeat a dispatch key. */
const ROLLBACK_EVERY = 17;
const DUPLICATE_EVERY = 13;

/** Runs the sample product: each business case writes its rows, the intents it has, and their events. Yields after each one. */
export async function* generateTraffic(database: Database, runId: string, transactions: number): AsyncGenerator<TrafficReport> {
  const report: TrafficReport = { published: 0, rolledBack: 0, duplicatesSuppressed: 0, mustDie: 0 };
  for (let number = 1; number <= transactions; number += 1) {
    const scope = { database, runId, tenantId: TENANTS[number % TENANTS.length] ?? TENANTS[0] };
    if (number % ROLLBACK_EVERY === 0) await rollBack(scope, report);
    else if (number % DUPLICATE_EVERY === 0) await publishTwice(scope, report);
    // Two tenants take turns, so each of them gets every kind.
    else await commit(scope, EFFECT_KINDS[Math.floor(number / TENANTS.length) % EFFECT_KINDS.length] ?? "mail", report);
    yield report;
  }
  await publishDoomed({ database, runId, tenantId: TENANTS[0] }, report);
  yield report;
}

async function commit(scope: SampleScope, kind: EffectKind, report: TrafficReport): Promise<void> {
  if (!isMessageKind(kind)) {
    report.published += await changeRecord(scope, kind);
    return;
  }
  const { database, runId, tenantId } = scope;
  await database.prisma.$transaction(async (tx) => {
    const key = await writeBusinessRow(tx, scope, kind, 1);
    await publishOutboxEvent(tx, messageFor(kind, key, runId, tenantId));
  });
  report.published += 1;
}

/** The transaction fails after publishing: nothing of it may ever be seen. */
async function rollBack(scope: SampleScope, report: TrafficReport): Promise<void> {
  const { database, runId, tenantId } = scope;
  const keyOf = Object.fromEntries(EFFECT_KINDS.map((kind) => [kind, randomUUID()])) as Record<EffectKind, string>;
  const roll = new Error("the sample product changes its mind");
  try {
    await database.prisma.$transaction(async (tx) => {
      await writeBusinessRow(tx, scope, "mail", 1);
      await publishOutboxEvents(
        tx,
        MESSAGE_KINDS.map((kind) => messageFor(kind, keyOf[kind], runId, tenantId)),
      );
      await writeRecords(tx, scope, keyOf);
      throw roll;
    });
  } catch (error) {
    if (error !== roll) throw error;
  }
  for (const kind of EFFECT_KINDS) await writeIntent(database.prisma, { key: keyOf[kind], kind, expected: 0 }, scope);
  report.rolledBack += 1;
}

/** A second transaction repeats the dispatch key, as a provider does that sends its webhook twice: the first event stands. */
async function publishTwice(scope: SampleScope, report: TrafficReport): Promise<void> {
  const { database, runId, tenantId } = scope;
  const dispatchKey = `provider:${randomUUID()}`;
  for (const expected of [1, 0]) {
    await database.prisma.$transaction(async (tx) => {
      const key = await writeBusinessRow(tx, scope, "notification", expected);
      const { duplicate } = await publishOutboxEvent(tx, { ...messageFor("notification", key, runId, tenantId), dispatchKey });
      if (duplicate) report.duplicatesSuppressed += 1;
      else report.published += 1;
    });
  }
}

async function publishDoomed(scope: SampleScope, report: TrafficReport): Promise<void> {
  const { database, runId, tenantId } = scope;
  await database.prisma.$transaction(async (tx) => {
    const key = await writeBusinessRow(tx, scope, "mail", 0);
    const mail = messageFor("mail", key, runId, tenantId);
    await publishOutboxEvent(tx, { ...mail, payload: { ...mail.payload, to: DEAD_MAILBOX } });
    await publishOutboxEvent(tx, { tenantId, type: "unrouted.sample.event", payload: { key }, correlationId: runId });
  });
  report.published += 2;
  report.mustDie += 2;
}

async function writeBusinessRow(tx: PrismaTx, scope: SampleScope, kind: EffectKind, expected: number): Promise<string> {
  const { runId, tenantId } = scope;
  const id = randomUUID();
  const key = randomUUID();
  await tx.$executeRaw`INSERT INTO sample.subscription (id, "runId", "tenantId", plan, status) VALUES (${id}::uuid, ${runId}::uuid, ${tenantId}, 'pro', 'active')`;
  await writeIntent(tx, { key, kind, expected }, scope);
  return key;
}
