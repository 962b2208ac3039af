import { setTimeout as delay } from "node:timers/promises";
import { publishOutboxEvents } from "@toolctrl/db/outbox";
import { waitFor } from "@toolctrl/testkit/wait";
import { TENANT, type Rig } from "./rig.ts";

/** One business transaction: an event for each of the four consumers that have an effect of their own. */
export interface Round {
  readonly mail: string;
  readonly webhook: string;
  readonly notification: string;
  readonly audit: string;
}

/** What a person, an endpoint and a table have seen of some rounds; `repeated` counts repeats that were recorded as unknown. */
export interface Effects {
  readonly missing: string[];
  readonly doubled: string[];
  readonly repeated: number;
}

const RECEIPTS_PER_ROUND = 5;

/**
 * Publishes a round. With a name it can be tried again after a commit whose answer was lost: the dispatch keys make it the same one.
 * @throws the driver's error while the database is away.
 */
export async function publishRound(rig: Rig, name: string): Promise<Round> {
  const event = (type: string, payload: Record<string, string>) => ({ tenantId: TENANT, type, payload, dispatchKey: `${name}:${type}` });
  const [mail, webhook, notification, audit] = await rig.database.prisma.$transaction((tx) =>
    publishOutboxEvents(tx, [
      event("mail.message.send", { to: `${name}@example.test`, subject: name, text: "Hello" }),
      event("webhook.invoice.paid", { name }),
      event("billing.invoice.paid", { name }),
      event("audit.entry.record", { actor: "ann", action: "lead.update", object: "Lead", recordId: name }),
    ]),
  );
  return { mail: idOf(mail), webhook: idOf(webhook), notification: idOf(notification), audit: idOf(audit) };
}

function idOf(published: { id: string } | undefined): string {
  if (published === undefined) throw new Error("expected four published events");
  return published.id;
}

/** Publishes rounds at a pace, one after the other, each until it is committed, until `stop`; then gives all of them. */
export function startTraffic(rig: Rig, name: string, everyMs: number): { readonly rounds: readonly Round[]; stop(): Promise<Round[]> } {
  const rounds: Round[] = [];
  let stopped = false;
  const run = async (): Promise<void> => {
    while (!stopped) {
      const next = `${name}-${rounds.length}`;
      rounds.push(await waitFor(() => publishRound(rig, next), { timeoutMs: 60_000, what: `round ${next} to be committed` }));
      await delay(everyMs);
    }
  };
  const running = run();
  // Awaited by `stop`; a test that fails before it must not leave the rejection to nobody.
  running.catch(() => undefined);
  return {
    rounds,
    async stop() {
      stopped = true;
      await running;
      return rounds;
    },
  };
}

/** Waits until every consumer has its receipt for every event of the rounds. */
export async function untilReceipts(rig: Rig, rounds: readonly Round[], timeoutMs = 40_000): Promise<void> {
  const ids = rounds.flatMap((round) => Object.values(round) as string[]);
  const expected = rounds.length * RECEIPTS_PER_ROUND;
  await waitFor(
    async () => {
      const { rows } = await rig.database.pool.query<{ n: number }>(
        `SELECT count(*)::int AS n FROM "OutboxReceipt" WHERE "outcome" = 'done' AND "eventId" = ANY($1)`,
        [ids],
      );
      return rows[0]?.n === expected || Promise.reject(new Error(`${rows[0]?.n} of ${expected}`));
    },
    { timeoutMs, what: `${expected} receipts` },
  );
}

/** Compares what happened outside with what was published. A mail or webhook may be repeated only where that is on record. */
export async function compareEffects(rig: Rig, rounds: readonly Round[]): Promise<Effects> {
  const { pool } = rig.database;
  const column = async (sql: string): Promise<string[]> => (await pool.query<{ id: string }>(sql)).rows.map(({ id }) => id);
  const unknown = new Set(await column(`SELECT "eventId" AS id FROM "OutboxIntent" WHERE "unknowns" > 0`));
  const seen = [
    ...rig.smtp.mails.map(({ messageId }) => /^<(.+)\.0@/.exec(messageId)?.[1] ?? messageId),
    ...rig.http.requests.map(({ headers }) => String(headers["webhook-id"])),
    ...(await column(`SELECT "eventId" AS id FROM "Notification"`)),
    ...(await column(`SELECT "eventId" AS id FROM "AuditEntry"`)),
  ];
  const times = new Map<string, number>();
  for (const id of seen) times.set(id, (times.get(id) ?? 0) + 1);
  const expected = rounds.flatMap((round) => Object.values(round) as string[]);
  const many = expected.filter((id) => (times.get(id) ?? 0) > 1);
  return {
    missing: expected.filter((id) => !times.has(id)),
    doubled: [...many.filter((id) => !unknown.has(id)), ...[...times.keys()].filter((id) => !expected.includes(id))],
    repeated: many.filter((id) => unknown.has(id)).length,
  };
}
