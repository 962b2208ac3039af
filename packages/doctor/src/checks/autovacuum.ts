import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import { fail, ok, warn, type Check, type Finding } from "../check.ts";

const vacuumRow = z.object({
  on: z.boolean(),
  enabled: z.boolean(),
  tuned: z.boolean(),
  live: z.number(),
  dead: z.number(),
  lastAt: z.date().nullable(),
});

const ASK = `SELECT current_setting('autovacuum')::boolean AND current_setting('track_counts')::boolean AS "on",
  NOT EXISTS (SELECT 1 FROM pg_options_to_table(c.reloptions) o WHERE o.option_name = 'autovacuum_enabled' AND NOT o.option_value::boolean) AS "enabled",
  EXISTS (SELECT 1 FROM pg_options_to_table(c.reloptions) o WHERE o.option_name = 'autovacuum_vacuum_scale_factor') AS "tuned",
  pg_stat_get_live_tuples(c.oid)::float8 AS "live", pg_stat_get_dead_tuples(c.oid)::float8 AS "dead",
  greatest(pg_stat_get_last_autovacuum_time(c.oid), pg_stat_get_last_vacuum_time(c.oid)) AS "lastAt"
 FROM pg_class c WHERE c.oid = to_regclass('"OutboxEvent"')`;

/** Below this nobody notices. */
const MANY_DEAD = 100_000;

/** Dead rows of the outbox are cleared away: each event is written several times, and a claim walks past what is left of them. */
export function createAutovacuumCheck(db: Queryable): Check {
  return { name: "autovacuum", look: () => lookAt(db) };
}

async function lookAt(db: Queryable): Promise<Finding> {
  const { rows } = await db.query(ASK);
  if (rows[0] === undefined) return fail(`expected a table "OutboxEvent", got none`, "run `toolctrl-cli db migrate`");
  const { on, enabled, tuned, live, dead, lastAt } = vacuumRow.parse(rows[0]);
  if (!on) return fail("expected autovacuum and track_counts to be on, got one of them off", "set both to on in the database's server");
  if (!enabled)
    return fail(`expected autovacuum on "OutboxEvent", got it switched off`, `ALTER TABLE "OutboxEvent" RESET (autovacuum_enabled);`);
  const last = lastAt === null ? "never vacuumed yet" : `last vacuum ${lastAt.toISOString()}`;
  if (dead > MANY_DEAD && dead > live)
    return fail(
      `expected fewer dead rows of "OutboxEvent" than live ones, got ${dead} beside ${live}, ${last}`,
      `end long transactions, then VACUUM "OutboxEvent";`,
    );
  if (!tuned)
    return warn(
      `expected "OutboxEvent" to be vacuumed early, got the server's own threshold`,
      `ALTER TABLE "OutboxEvent" SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);`,
    );
  return ok(`on, ${dead} dead rows beside ${live}, ${last}`);
}
