import type { Queryable } from "@toolctrl/db/sql";

/** One claim as the database saw it: by which drainer, and what the mode row said at that moment. */
export interface LoggedClaim {
  readonly n: number;
  readonly eventId: string;
  readonly claimMode: string;
  readonly mode: string;
  readonly desired: string;
  readonly epoch: number;
}

/**
 * Makes the database write down every claim. The mode row is read in the claim's own transaction: a claim that holds it, as it has to,
 * cannot see it change; one that did not would.
 */
export async function logClaims(db: Queryable): Promise<void> {
  await db.query(`
    CREATE TABLE "ClaimLog" ("n" bigserial PRIMARY KEY, "eventId" uuid, "claimMode" text, "mode" text, "desired" text, "epoch" bigint);
    CREATE FUNCTION "logClaim"() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO "ClaimLog" ("eventId", "claimMode", "mode", "desired", "epoch")
      SELECT NEW."id", NEW."claimMode", m."mode", m."desired", m."epoch" FROM "OutboxMode" m;
      RETURN NULL;
    END $$;
    CREATE TRIGGER "logClaim" AFTER UPDATE ON "OutboxEvent" FOR EACH ROW
      WHEN (NEW."lockToken" IS NOT NULL AND NEW."lockToken" IS DISTINCT FROM OLD."lockToken") EXECUTE FUNCTION "logClaim"();
    CREATE TABLE "Mark" ("eventId" uuid)`);
}

export async function loggedClaims(db: Queryable): Promise<LoggedClaim[]> {
  const { rows } = await db.query<Record<string, unknown>>(
    `SELECT "n"::int, "eventId"::text, "claimMode", "mode", "desired", "epoch"::int FROM "ClaimLog" ORDER BY "n"`,
  );
  return rows as unknown as LoggedClaim[];
}

/** What is wrong with the claims of a run, a sentence each; none when never two drainers claimed in one epoch and no epoch came back. */
export function findBreaches(claims: readonly LoggedClaim[]): string[] {
  const breaches: string[] = [];
  const familyOf = new Map<number, string>();
  let newest = 0;
  for (const { n, claimMode, mode, desired, epoch } of claims) {
    const family = claimMode === "pull" ? "pull" : "batch";
    if (family !== mode || mode !== desired) breaches.push(`claim ${n}: ${claimMode} while the row said ${mode}>${desired}@${epoch}`);
    if (epoch < newest) breaches.push(`claim ${n}: epoch ${epoch} after epoch ${newest}`);
    newest = Math.max(newest, epoch);
    const before = familyOf.get(epoch) ?? family;
    familyOf.set(epoch, before);
    if (before !== family) breaches.push(`claim ${n}: ${family} in epoch ${epoch}, in which ${before} had claimed`);
  }
  return breaches;
}
