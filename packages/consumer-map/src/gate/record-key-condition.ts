import { recordKeyReady } from "@toolctrl/db/record-key";
import { findSchemaProblems } from "@toolctrl/db/schema";
import type { Queryable } from "@toolctrl/db/sql";
import type { Reason, StartCondition } from "@toolctrl/outbox-drainer/switch";
import { redFor } from "./answers.ts";
import { isOfRecordKeys } from "./of-record-keys.ts";
import { fixOf } from "./schema-condition.ts";

/** Every event of the live table has its record key, and the indexes that keep a record's events in order are whole. */
export function createRecordKeyCondition(db: Queryable): StartCondition {
  return { name: "record keys", check: async () => redFor(await findReasons(db)) };
}

const BACKFILL = "run `toolctrl-cli outbox backfill-record-key`";

async function findReasons(db: Queryable): Promise<Reason[]> {
  const { column, constraint, validated, indexes } = await recordKeyReady(db);
  if (!column)
    return [{ why: `expected the live "OutboxEvent" to have "recordKey", got no "recordKey"`, fix: "run `toolctrl-cli db migrate`" }];
  const reasons: Reason[] = [];
  if (!constraint) {
    const fix = `${await mendOf(db, "constraint")} Then ${BACKFILL}`;
    reasons.push({ why: "expected every event to have its record key, got no constraint that says so", fix });
  } else if (!validated) {
    reasons.push({ why: "expected every event to have its record key, got a constraint that is not validated", fix: BACKFILL });
  }
  if (!indexes) {
    const why = "expected the indexes of record lines to be valid, got one that is missing or is not";
    reasons.push({ why, fix: await mendOf(db, "index") });
  }
  return reasons;
}

async function mendOf(db: Queryable, kind: "constraint" | "index"): Promise<string> {
  const problems = (await findSchemaProblems(db)).filter((problem) => problem.name.startsWith(kind) && isOfRecordKeys(problem));
  return fixOf(problems.map(({ mend }) => mend).join(" ") || null);
}
