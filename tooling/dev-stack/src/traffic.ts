import { randomUUID } from "node:crypto";
import type { Database } from "@toolctrl/db/client";
import { publishOutboxEvent, publishOutboxEvents } from "@toolctrl/db/outbox";
import { EFFECT_KINDS, type EffectKind, type Intent } from "./effect-kinds.ts";

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

type PrismaTx = Parameters<Parameters<Database["prisma"]["$transaction"]>[0]>[0];

/** What a business transaction does, by its number: most commit, some roll back, some repeat a dispatch key. */
const ROLLBACK_EVERY = 17;
const DUPLICATE_EVERY = 13;

/**
 * Runs the sample product: each transaction writes a subscription, the intents it has, and their events. Yields after each one.
 * `runId` is the correlation id of every event.
 */
export async function* generateTraffic(database: Database, runId: string, transactions: number): AsyncGenerator<TrafficReport> {
  const report: TrafficReport = { published: 0, rolledBack: 0, duplicatesSuppressed: 0, mustDie: 0 };
  for (let number = 1; number <= transactions; number += 1) {
    const tenantId = TENANTS[number % TENANTS.length] ?? TENANTS[0];
    if (number % ROLLBACK_EVERY === 0) await rollBack(database, runId, tenantId, report);
    else if (number % DUPLICATE_EVERY === 0) await publishTwice(database, runId, tenantId, report);
    else await commit(database, runId, tenantId, EFFECT_KINDS[number % EFFECT_KINDS.length] ?? "mail", report);
    yield report;
  }
  await publishDoomed(database, runId, report);
  yield report;
}

async function commit(database: Database, runId: string, tenantId: string, kind: EffectKind, report: TrafficReport): Promise<void> {
  await database.prisma.$transaction(async (tx) => {
    const key = await writeBusinessRow(tx, runId, tenantId, kind, 1);
    await publishOutboxEvent(tx, eventFor(kind, key, runId, tenantId));
  });
  report.published += 1;
}

/** The transaction fails after publishing: nothing of it may ever be seen. */
async function rollBack(database: Database, runId: string, tenantId: string, report: TrafficReport): Promise<void> {
  const keys = EFFECT_KINDS.map((kind) => ({ kind, key: randomUUID() }));
  const roll = new Error("the sample product changes its mind");
  try {
    await database.prisma.$transaction(async (tx) => {
      await writeBusinessRow(tx, runId, tenantId, "mail", 1);
      await publishOutboxEvents(
        tx,
        keys.map(({ kind, key }) => eventFor(kind, key, runId, tenantId)),
      );
      throw roll;
    });
  } catch (error) {
    if (error !== roll) throw error;
  }
  for (const { kind, key } of keys) await writeIntent(database.prisma, { key, kind, expected: 0 }, runId, tenantId);
  report.rolledBack += 1;
}

/** A second transaction repeats the dispatch key, as a provider does that sends its webhook twice: the first event stands. */
async function publishTwice(database: Database, runId: string, tenantId: string, report: TrafficReport): Promise<void> {
  const dispatchKey = `provider:${randomUUID()}`;
  for (const expected of [1, 0]) {
    await database.prisma.$transaction(async (tx) => {
      const key = await writeBusinessRow(tx, runId, tenantId, "notification", expected);
      const { duplicate } = await publishOutboxEvent(tx, { ...eventFor("notification", key, runId, tenantId), dispatchKey });
      if (duplicate) report.duplicatesSuppressed += 1;
      else report.published += 1;
    });
  }
}

async function publishDoomed(database: Database, runId: string, report: TrafficReport): Promise<void> {
  const tenantId = TENANTS[0];
  await database.prisma.$transaction(async (tx) => {
    const key = await writeBusinessRow(tx, runId, tenantId, "mail", 0);
    const mail = eventFor("mail", key, runId, tenantId);
    await publishOutboxEvent(tx, { ...mail, payload: { ...mail.payload, to: DEAD_MAILBOX } });
    await publishOutboxEvent(tx, { tenantId, type: "unrouted.sample.event", payload: { key }, correlationId: runId });
  });
  report.published += 2;
  report.mustDie += 2;
}

async function writeBusinessRow(tx: PrismaTx, runId: string, tenantId: string, kind: EffectKind, expected: number): Promise<string> {
  const id = randomUUID();
  const key = randomUUID();
  await tx.$executeRaw`INSERT INTO sample.subscription (id, "runId", "tenantId", plan, status) VALUES (${id}::uuid, ${runId}::uuid, ${tenantId}, 'pro', 'active')`;
  await writeIntent(tx, { key, kind, expected }, runId, tenantId);
  return key;
}

async function writeIntent(tx: Pick<PrismaTx, "$executeRaw">, intent: Intent, runId: string, tenantId: string): Promise<void> {
  await tx.$executeRaw`INSERT INTO sample.intent (key, "runId", "tenantId", kind, expected)
    VALUES (${intent.key}::uuid, ${runId}::uuid, ${tenantId}, ${intent.kind}, ${intent.expected}::int)`;
}

function eventFor(kind: EffectKind, key: string, runId: string, tenantId: string) {
  return { ...MESSAGES[kind](key), tenantId, correlationId: runId };
}

/** Each message carries its key where the sinks look for it. */
const MESSAGES = {
  mail: (key: string) => ({
    type: "mail.message.send",
    payload: {
      to: "customer@example.com",
      subject: "Your subscription {{ key }}",
      text: "Hello {{ name }}, your plan is active.",
      html: "<p>Hello {{ name }}, your plan is active.</p>",
      data: { key, name: "Ann <Admin>" },
    },
  }),
  webhook: (key: string) => ({ type: "webhook.subscription.updated", payload: { key, status: "active" } }),
  notification: (key: string) => ({
    type: "notification.message.create",
    payload: { recipientId: "user-1", title: `Plan changed ${key}`, body: "Your plan is active." },
  }),
  audit: (key: string) => ({
    type: "audit.entry.record",
    payload: { actor: "user-1", action: "subscription.update", object: "Subscription", recordId: key, data: { plan: "pro" } },
  }),
} as const;
