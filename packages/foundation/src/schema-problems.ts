import type { z } from "zod";

/** What is wrong at a path of some input; the path is "" for the whole of it. */
export interface SchemaProblem {
  readonly path: string;
  readonly message: string;
}

/** Where the input of a schema is wrong, as exactly as can be said: the unknown key itself, and inside a union the branch that came furthest. */
export function listSchemaProblems(error: z.ZodError): SchemaProblem[] {
  return error.issues.flatMap(problemsOf);
}

/** Problems as the lines of a message; `whole` is what the input itself is called. */
export function problemLines(problems: readonly SchemaProblem[], whole: string): string {
  return problems.map(({ path, message }) => `  - ${path === "" ? whole : path}: ${message}`).join("\n");
}

function problemsOf(issue: z.core.$ZodIssue): SchemaProblem[] {
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => ({ path: [...issue.path, key].join("."), message: "unknown key" }));
  if (issue.code === "invalid_union") {
    const furthest = issue.errors.flat().sort((a, b) => b.path.length - a.path.length)[0];
    if (furthest !== undefined && furthest.path.length > 0) return problemsOf({ ...furthest, path: [...issue.path, ...furthest.path] });
  }
  return [{ path: issue.path.join("."), message: issue.message }];
}
