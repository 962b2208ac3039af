import { publishOutboxEvents } from "@toolctrl/db/outbox";
import { waitFor } from "@toolctrl/testkit/wait";
import { TENANT, type Rig } from "./rig.ts";

/** An event as an operator sees it. */
export interface EventRow {
  readonly status: string;
  readonly attempts: number;
  readonly retries: number;
  readonly crashes: number;
  readonly lockToken: string | null;
  readonly lastErrorCode: string | null;
  /** Moves with every write. */
  readonly updatedAt: string;
}

/** Publishes events that become notifications, in one transaction; returns their ids. */
export async function publishNotifications(rig: Rig, count: number, scheduledAt?: Date): Promise<string[]> {
  const due = scheduledAt === undefined ? {} : { scheduledAt };
  const events = Array.from({ length: count }, (_, n) => ({ tenantId: TENANT, type: "billing.invoice.paid", payload: { n }, ...due }));
  return (await rig.database.prisma.$transaction((tx) => publishOutboxEvents(tx, events))).map(({ id }) => id);
}

export async function readEvents(rig: Rig, ids: readonly string[]): Promise<EventRow[]> {
  const { rows } = await rig.database.pool.query<EventRow>(
    `SELECT "status"::text AS "status", "attempts", "retries", "crashes", "lockToken", "lastErrorCode", "updatedAt"::text AS "updatedAt"
     FROM "OutboxEvent" WHERE "id" = ANY($1) ORDER BY "position"`,
    [ids],
  );
  return rows;
}

/** Waits until all these events have a status. */
export async function untilStatus(rig: Rig, ids: readonly string[], status: string): Promise<void> {
  await waitFor(async () => (await readEvents(rig, ids)).every((event) => event.status === status), {
    timeoutMs: 30_000,
    what: `${ids.length} events to be ${status}`,
  });
}

/** Waits until notification-create has a receipt with this outcome for all these events. */
export async function untilNotified(rig: Rig, ids: readonly string[], outcome: "done" | "dead" = "done"): Promise<void> {
  const sql = `SELECT 1 FROM "OutboxReceipt" WHERE "consumer" = 'notification-create' AND "outcome" = $2 AND "eventId" = ANY($1)`;
  await waitFor(async () => (await rig.database.pool.query(sql, [ids, outcome])).rowCount === ids.length, {
    timeoutMs: 30_000,
    what: `${ids.length} receipts ${outcome}`,
  });
}

/** How many notifications these events have. */
export async function countNotifications(rig: Rig, ids: readonly string[]): Promise<number> {
  return (await rig.database.pool.query(`SELECT 1 FROM "Notification" WHERE "eventId" = ANY($1)`, [ids])).rowCount ?? 0;
}
