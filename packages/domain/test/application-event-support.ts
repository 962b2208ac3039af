import { transaction, type Database } from "@toolctrl/db/client";
import { outboxTransactionOf, type OutboxTransaction } from "@toolctrl/db/outbox";
import type { EventContext } from "../src/events-service.ts";
import { rowsOf } from "./support.ts";

/** Somebody asks, and two people are to be told; one of them is named twice. */
export const REQUEST: EventContext = { kind: "request", actor: "ann", notify: ["bob", "cay", "bob"] };
export const RUN_ID = "0190a0a0-0000-7000-8000-0000000000f0";
export const WORKFLOW: EventContext = { kind: "workflow", executionId: RUN_ID };

type Transact = <T>(db: Database, run: (tx: OutboxTransaction) => Promise<T>) => Promise<T>;

export const viaPrisma: Transact = (db, run) => db.prisma.$transaction(run, { maxWait: 60_000, timeout: 60_000 });
export const viaRawSql: Transact = (db, run) => transaction(db.pool, (tx) => run(outboxTransactionOf(tx)));

/** The types of what is published, in order, as another connection sees them. */
export async function typesOf(db: Database): Promise<unknown[]> {
  return (await rowsOf(db, `SELECT "eventType" FROM "OutboxEvent" e ORDER BY e."position"`)).map(({ eventType }) => eventType);
}

/** Rows and application events, and how often each type of event was published, as another connection sees them. */
export async function countsOf(db: Database): Promise<Record<string, number>> {
  const rows = await rowsOf(
    db,
    `SELECT 'rows' AS "what", count(*)::int AS "n" FROM "Row" UNION ALL
     SELECT 'happened', count(*)::int FROM "ApplicationEvent" UNION ALL
     SELECT "eventType", count(*)::int FROM "OutboxEvent" GROUP BY "eventType"`,
  );
  return Object.fromEntries(rows.map(({ what, n }) => [String(what), Number(n)]));
}
