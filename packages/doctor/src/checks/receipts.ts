import type { Queryable } from "@toolctrl/db/sql";
import { ROUTES } from "@toolctrl/event-router/router";
import { listUnfinished, START_OF_TIME, type Cursor, type UnfinishedEvent, type UnfinishedPage } from "@toolctrl/outbox-drainer/reconcile";
import { lookAtOldEvents } from "@toolctrl/outbox-drainer/retention";
import { ok, unknown, warn, type Check, type Finding } from "../check.ts";

const LOOK_AT = 10_000;
/** Of the last day: what a check has time for. */
const PAGES = 20;
const PATIENCE_MS = 15 * 60_000;
const DAY_MS = 24 * 3600_000;

/**
 * What was handed off gets its receipts. Retention keeps an event that lacks one; what is old enough to be deleted and still there is held for
 * that. Of the last day, an event that lacks one after a quarter of an hour is on its way for too long.
 */
export function createReceiptsCheck(db: Queryable, retentionHours: number): Check {
  return { name: "receipts", look: () => lookAt(db, retentionHours) };
}

async function lookAt(db: Queryable, retentionHours: number): Promise<Finding> {
  const { held } = await lookAtOldEvents(db, { routes: ROUTES, olderThanHours: retentionHours, limit: LOOK_AT });
  const unfinished = await findUnfinishedOfDay(db);
  const kept = Object.entries(held).map(([prefix, events]) => `${events} of ${prefix}`);
  const said = [
    ...(kept.length === 0 ? [] : [`${kept.join(", ")} kept past retention for want of a receipt`]),
    ...(unfinished === null || unfinished.events.length === 0 ? [] : [describeUnfinished(unfinished)]),
  ];
  if (said.length === 0 && unfinished === null)
    return unknown(
      `the first ${PAGES * LOOK_AT} events handed off in the last day have their receipts; this check looks at no more`,
      "`toolctrl-cli outbox stats` counts all that lack one",
    );
  if (said.length === 0) return ok("nothing is held for want of a receipt");
  return warn(
    `expected every handed-off event to get its receipts, got ${said.join("; ")}`,
    "`toolctrl-cli outbox stats` counts them and who gave up, `outbox trace <id>` says why, `outbox requeue` tries again",
  );
}

/** The first of them in order of hand-off, as many as their page has; null when none is among those that are looked at, and there are more. */
async function findUnfinishedOfDay(db: Queryable): Promise<UnfinishedPage | null> {
  const page = { limit: LOOK_AT, olderThanMs: PATIENCE_MS, since: await dayAgo(db) };
  let after: Cursor = START_OF_TIME;
  for (let pages = 0; pages < PAGES; pages += 1) {
    const found = await listUnfinished(db, ROUTES, { ...page, after });
    if (found.events.length > 0 || found.looked < LOOK_AT) return found;
    after = found.next ?? after;
  }
  return null;
}

function describeUnfinished({ events, looked }: UnfinishedPage): string {
  const more = looked === LOOK_AT ? " or more" : "";
  return `${events.length}${more} handed off today, a quarter of an hour ago or more, and not finished by ${consumersOf(events)}`;
}

/** By the database's clock. */
async function dayAgo(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ at: Date }>(`SELECT clock_timestamp() - $1::float8 * interval '1 millisecond' AS "at"`, [DAY_MS]);
  return rows[0]?.at ?? new Date(Date.now() - DAY_MS);
}

function consumersOf(events: readonly UnfinishedEvent[]): string {
  return [...new Set(events.flatMap(({ missing }) => missing))].sort().join(", ");
}
