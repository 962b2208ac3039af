import { CodedError } from "@toolctrl/foundation/errors";
import { listSchemaProblems, problemLines } from "@toolctrl/foundation/schema-problems";
import { z } from "zod";

const text = z.string().refine((value) => !value.includes("\u0000") && value.isWellFormed(), { error: "expected well-formed Unicode" });

const querySchema = z.strictObject({
  tenantId: text.min(1).max(200),
  query: text.max(1000),
  collections: z.array(text.max(64)).min(1).max(50).optional(),
  language: text.max(63).optional(),
  limit: z.int().min(1).max(100).default(20),
  offset: z.int().min(0).max(10_000).default(0),
});

/**
 * What to search for. `collections` and `language` narrow it; without `language` every document is asked in its own. `limit` is 20 unless
 * given, 100 at most; `offset` 10,000 at most.
 */
export type SearchQuery = z.input<typeof querySchema>;

/** @throws CodedError `SEARCH.ARGUMENT` naming each path */
export function checkSearchQuery(query: SearchQuery): z.output<typeof querySchema> {
  const parsed = querySchema.safeParse(query);
  if (parsed.success) return parsed.data;
  const problems = listSchemaProblems(parsed.error);
  throw new CodedError("SEARCH.ARGUMENT", `expected a search that can be run, got:\n${problemLines(problems, "query")}`, {
    facts: { paths: problems.map(({ path }) => path) },
  });
}
