// What has become of forms that were sent, as people, endpoints and an operator see it.
import { createRouter } from "@toolctrl/event-router/router";
import { waitFor } from "@toolctrl/testkit/wait";
import type { Sent } from "./form-traffic.ts";
import type { Rig } from "./rig.ts";

const route = createRouter();

/** Those that write receipts of their own; an after-save effect's is there with its event's DONE. */
const CONSUMERS = ["form-route", "mail-render", "email-send", "webhook-deliver", "notification-create"];

/** Waits until every event is handed off and so many consumers have their receipts; says what is open where that does not come. */
export async function untilOver(rig: Rig, receipts: number, timeoutMs: number): Promise<void> {
  const sql = `SELECT (SELECT count(*)::int FROM "OutboxReceipt" WHERE "outcome" = 'done' AND "consumer" = ANY($1)) AS "receipts",
    EXISTS (SELECT 1 FROM "OutboxEvent" WHERE "status" <> 'DONE') AS "open"`;
  const isOver = async (): Promise<boolean> => {
    const [now] = await rowsOf<{ receipts: number; open: boolean }>(rig, sql, [CONSUMERS]);
    return now?.receipts === receipts && !now.open;
  };
  await waitFor(isOver, { timeoutMs, what: `${receipts} receipts, and no event open` }).catch(async (cause: unknown) => {
    throw new Error(`${String(cause)}; open: ${await whatIsOpen(rig)}`, { cause });
  });
}

/** What every event still lacks, in a few words; empty when everything has happened. */
export async function whatIsOpen({ database }: Rig): Promise<string> {
  const { rows } = await database.pool.query<{ type: string; status: string; receipts: string[] }>(
    `SELECT e."eventType" AS "type", e."status"::text AS "status",
       ARRAY(SELECT r."consumer" FROM "OutboxReceipt" r WHERE r."eventId" = e."id" AND r."outcome" = 'done') AS "receipts"
     FROM "OutboxEvent" e`,
  );
  const open: Record<string, number> = {};
  for (const { type, status, receipts } of rows) {
    const missing = (route(type)?.consumers ?? []).filter((consumer) => !receipts.includes(consumer));
    if (status === "DONE" && missing.length === 0) continue;
    const why = `${type} ${status}${missing.length === 0 ? "" : ` without ${missing.join(" and ")}`}`;
    open[why] = (open[why] ?? 0) + 1;
  }
  return Object.entries(open)
    .map(([why, events]) => `${events} × ${why}`)
    .join("; ");
}

/** Something that was seen outside: its id, how often, and how often a repeat of it was recorded as possible. */
interface Seen {
  readonly id: string;
  readonly raw: number;
  readonly unknowns: number;
}

export interface FormOutcome {
  /** Leads by the person's address, or name where there is none, with how many there are. */
  readonly leads: Readonly<Record<string, number>>;
  readonly mails: readonly Seen[];
  readonly webhooks: readonly Seen[];
  /** How many notifications each submission has. */
  readonly notifications: Readonly<Record<string, number>>;
  /** Submissions whose lead is another person's, or none. */
  readonly strayed: readonly string[];
  readonly events: Readonly<Record<string, number>>;
  /** Ids of mails and webhooks that were published, by the submission they belong to. */
  readonly published: Readonly<Record<"mail" | "webhook" | "notification", ReadonlyMap<string, string>>>;
}

export async function readOutcome(rig: Rig, sent: readonly Sent[]): Promise<FormOutcome> {
  const unknowns = await rowsBy(rig, `SELECT "eventId"::text AS "key", sum("unknowns")::int AS "value" FROM "OutboxIntent" GROUP BY 1`);
  const seen = (ids: readonly string[]): Seen[] =>
    Object.entries(tally(ids)).map(([id, raw]) => ({ id, raw, unknowns: unknowns[id] ?? 0 }));
  const [mail, webhook, notification] = [
    await publishedBy(rig, "mail.message.send"),
    await publishedBy(rig, "webhook.form.submitted"),
    await publishedBy(rig, "notification.message.create"),
  ];
  const notified = await rowsOf<{ eventId: string }>(rig, `SELECT "eventId" FROM "Notification"`);
  const submissionOf = new Map([...notification].map(([submission, event]) => [event, submission]));
  return {
    leads: await rowsBy(rig, `SELECT coalesce(lower("email"), "name") AS "key", count(*)::int AS "value" FROM "Lead" GROUP BY 1`),
    mails: seen(rig.smtp.mails.map(({ messageId }) => /^<(.+)\.0@/.exec(messageId)?.[1] ?? messageId)),
    webhooks: seen(rig.http.requests.map(({ headers }) => String(headers["webhook-id"]))),
    notifications: tally(notified.map(({ eventId }) => submissionOf.get(eventId) ?? eventId)),
    strayed: await strayedOf(rig, sent),
    events: await rowsBy(rig, `SELECT "eventType" AS "key", count(*)::int AS "value" FROM "OutboxEvent" GROUP BY 1`),
    published: { mail, webhook, notification },
  };
}

async function strayedOf(rig: Rig, sent: readonly Sent[]): Promise<string[]> {
  const rows = await rowsOf<{ id: string; lead: string | null }>(
    rig,
    `SELECT s."id", coalesce(lower(l."email"), l."name") AS "lead" FROM "FormSubmission" s LEFT JOIN "Lead" l ON l."id" = s."leadId"`,
  );
  const leadOf = new Map(rows.map(({ id, lead }) => [id, lead]));
  return sent
    .filter(({ press, submission }) => leadOf.get(submission.id) !== leadNameOf(press.data))
    .map(({ submission }) => submission.id);
}

/** By what a person's lead is known here. */
export function leadNameOf(data: { readonly name: string; readonly email?: string | undefined }): string {
  return data.email?.toLowerCase() ?? data.name;
}

// The dispatch key names the submission.
async function publishedBy(rig: Rig, type: string): Promise<Map<string, string>> {
  const rows = await rowsOf<{ id: string; submission: string }>(
    rig,
    `SELECT "id", split_part("dispatchKey", ':', 2) AS "submission" FROM "OutboxEvent" WHERE "eventType" = $1`,
    [type],
  );
  return new Map(rows.map(({ id, submission }) => [submission, id]));
}

async function rowsBy(rig: Rig, sql: string): Promise<Record<string, number>> {
  const rows = await rowsOf<{ key: string; value: number }>(rig, sql);
  return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
}

async function rowsOf<Row extends object>({ database }: Rig, sql: string, values: unknown[] = []): Promise<Row[]> {
  return (await database.pool.query<Row & Record<string, unknown>>(sql, values)).rows;
}

export function tally(keys: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const key of keys) counts[key] = (counts[key] ?? 0) + 1;
  return counts;
}
