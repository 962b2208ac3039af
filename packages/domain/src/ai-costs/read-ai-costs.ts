import type { Queryable } from "@toolctrl/db/sql";
import { CodedError } from "@toolctrl/foundation/errors";
import { listSchemaProblems, problemLines } from "@toolctrl/foundation/schema-problems";
import { z } from "zod";

const DAY_MS = 86_400_000;
const MAX_DAYS = 366;
const MAX_ROWS = 10_000;

const rangeSchema = z
  .strictObject({
    tenantId: z.string().min(1).max(200),
    from: z.iso.date(),
    to: z.iso.date(),
    model: z.string().min(1).max(200).optional(),
  })
  .refine(({ from, to }) => from <= to && Date.parse(to) - Date.parse(from) < MAX_DAYS * DAY_MS, {
    error: `expected from and to to be at most ${MAX_DAYS} days in order`,
    path: ["to"],
  });

/** Whose costs: days in UTC, `2027-03-01`, the last one included; at most 366 of them. */
export type AiCostRange = z.input<typeof rangeSchema>;

const dayRow = z.object({
  day: z.string(),
  model: z.string(),
  currency: z.string(),
  amount: z.string(),
  entries: z.string(),
  repeats: z.string(),
  inputTokens: z.string(),
  outputTokens: z.string(),
});

/** The sums of a day. Numbers are decimal texts, exact whatever their size; `repeats` are the entries of deliberate repeats among `entries`. */
export type AiCostDay = z.output<typeof dayRow>;

/**
 * What a tenant spent, by day, model and currency, in this order.
 *
 * Lock: none. Index: the primary key of `AiCostDay`.
 * @throws CodedError `COST.ARGUMENT` naming each path; also where the answer would have more than 10,000 rows
 */
export async function readAiCosts(db: Queryable, range: AiCostRange): Promise<AiCostDay[]> {
  const parsed = rangeSchema.safeParse(range);
  if (!parsed.success) {
    const problems = listSchemaProblems(parsed.error);
    throw refused(`\n${problemLines(problems, "range")}`, problems);
  }
  const { tenantId, from, to, model } = parsed.data;
  const { rows } = await db.query(
    `SELECT to_char(d."day", 'YYYY-MM-DD') AS "day", d."model", d."currency", trim_scale(d."amount")::text AS "amount",
            d."entries"::text AS "entries", d."repeats"::text AS "repeats",
            d."inputTokens"::text AS "inputTokens", d."outputTokens"::text AS "outputTokens"
       FROM "AiCostDay" d
      WHERE d."tenantId" = $1 AND d."day" BETWEEN $2::date AND $3::date AND ($4::text IS NULL OR d."model" = $4)
      ORDER BY d."day", d."model", d."currency" LIMIT $5`,
    [tenantId, from, to, model ?? null, MAX_ROWS + 1],
  );
  if (rows.length > MAX_ROWS) throw refused(` more than ${MAX_ROWS} rows`, [{ path: "to" }]);
  return z.array(dayRow).parse(rows);
}

function refused(got: string, problems: ReadonlyArray<{ path: string }>): CodedError {
  return new CodedError("COST.ARGUMENT", `expected a range of days that can be read, got:${got}`, {
    facts: { paths: problems.map(({ path }) => path) },
  });
}
