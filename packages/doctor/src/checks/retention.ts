import type { Queryable } from "@toolctrl/db/sql";
import { ROUTES } from "@toolctrl/event-router/router";
import { lookAtOldEvents } from "@toolctrl/outbox-drainer/retention";
import { fail, ok, type Check, type Finding } from "../check.ts";

/** Retention runs once a day. */
const GRACE_HOURS = 26;
const LOOK_AT = 10_000;

/** Retention keeps up: nothing that it may delete is older than its age and a day. */
export function createRetentionCheck(db: Queryable, retentionHours: number): Check {
  return { name: "retention", look: () => lookAt(db, retentionHours) };
}

async function lookAt(db: Queryable, retentionHours: number): Promise<Finding> {
  const olderThanHours = retentionHours + GRACE_HOURS;
  const { free, looked, oldestFreeAt } = await lookAtOldEvents(db, { routes: ROUTES, olderThanHours, limit: LOOK_AT });
  if (free === 0 || oldestFreeAt === null) return ok(`no event outlives its ${retentionHours} h`);
  return fail(
    `expected finished events to be deleted after ${retentionHours} h and a day at most, got ${free}${looked === LOOK_AT ? " or more" : ""} that are older, the oldest handed off at ${oldestFreeAt.toISOString()}`,
    "start a worker-general, or look into the log of the one that runs for `retention has run`; give this command the workers' OUTBOX_DONE_RETENTION_HOURS",
  );
}
