import { randomUUID } from "node:crypto";
import type { Database } from "@toolctrl/db/client";
import { publishOutboxEvent } from "@toolctrl/db/outbox";
import { SAMPLE_CASES } from "./cases.ts";
import { messageFor } from "./cases/messages.ts";
import { writeIntents, type SampleScope } from "./intents.ts";
import type { SampleCase } from "./sample-case.ts";

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
    // Two tenants take turns, so each of them gets every case.
    else await commit(scope, caseOf(Math.floor(number / TENANTS.length)), report);
    yield report;
  }
  await publishDoomed({ database, runId, tenantId: TENANTS[0] }, report);
  yield report;
}

function caseOf(turn: number): SampleCase {
  const found = SAMPLE_CASES[turn % SAMPLE_CASES.length];
  if (found === undefined) throw new Error("expected the sample product to do something");
  return found;
}

async function commit(scope: SampleScope, sample: SampleCase, report: TrafficReport): Promise<void> {
  const key = randomUUID();
  report.published += await scope.database.prisma.$transaction(async (tx) => {
    await writeIntents(tx, scope, key, sample.effects);
    return sample.write(tx, scope, key);
  });
  report.published += (await sample.follow?.(scope, key)) ?? 0;
}

/** The transaction fails after publishing: nothing of it may ever be seen. */
async function rollBack(scope: SampleScope, report: TrafficReport): Promise<void> {
  const { prisma } = scope.database;
  const roll = new Error("the sample product changes its mind");
  const keys = SAMPLE_CASES.map((sample) => ({ sample, key: randomUUID() }));
  try {
    await prisma.$transaction(async (tx) => {
      for (const { sample, key } of keys) await sample.write(tx, scope, key);
      throw roll;
    });
  } catch (error) {
    if (error !== roll) throw error;
  }
  for (const { sample, key } of keys) await writeIntents(prisma, scope, key, sample.effects, { never: true });
  report.rolledBack += 1;
}

/** A second transaction repeats the dispatch key, as a provider does that sends its webhook twice: the first event stands. */
async function publishTwice(scope: SampleScope, report: TrafficReport): Promise<void> {
  const dispatchKey = `provider:${randomUUID()}`;
  for (const never of [false, true]) {
    await scope.database.prisma.$transaction(async (tx) => {
      const key = randomUUID();
      await writeIntents(tx, scope, key, { "notification-create": 1 }, { never });
      const { duplicate } = await publishOutboxEvent(tx, { ...messageFor("notification", scope, key), dispatchKey });
      if (duplicate) report.duplicatesSuppressed += 1;
      else report.published += 1;
    });
  }
}

async function publishDoomed(scope: SampleScope, report: TrafficReport): Promise<void> {
  const { database, runId, tenantId } = scope;
  await database.prisma.$transaction(async (tx) => {
    const key = randomUUID();
    await writeIntents(tx, scope, key, { "mail-render": 1 });
    await writeIntents(tx, scope, key, { "email-send": 1 }, { never: true });
    const mail = messageFor("mail", scope, key);
    await publishOutboxEvent(tx, { ...mail, payload: { ...mail.payload, to: DEAD_MAILBOX } });
    await publishOutboxEvent(tx, { tenantId, type: "unrouted.sample.event", payload: { key }, correlationId: runId });
  });
  report.published += 2;
  report.mustDie += 2;
}
