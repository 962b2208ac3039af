import { CodedError } from "@toolctrl/foundation/errors";
import type { z } from "zod";
import { metaOf } from "./env-fields.ts";
import { chooseQueueBackend, ENV_RULES, type QueueBackendChoice, type QueueBackendInput } from "./env-rules.ts";

export { choice, clampedInteger, flag, integer, optionalChoice, optionalText, optionalUrl, text, url } from "./env-fields.ts";
export { databaseEnv, outboxEnv, processEnv, queueEnv, receiverEnv, workerEnv } from "./env-shapes.ts";
export { describeEnv, renderEnvTable, type EnvVariable } from "./describe-env.ts";

type Source = Readonly<Record<string, string | undefined>>;

/**
 * Reads an app's environment by its schema. Variables the schema does not name are ignored.
 *
 * A wrong value is never replaced by a default. Values of variables that may hold a secret are not printed.
 * @throws CodedError `ENV.INVALID` listing every problem at once, those over several variables included; `facts.problems` has the lines.
 */
export function loadEnv<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  source: Source = process.env,
): z.infer<z.ZodObject<Shape>> {
  const names = Object.keys(schema.shape);
  // Absent, not undefined: exact optional fields tell the two apart.
  const input = Object.fromEntries(names.flatMap((name) => (source[name] === undefined ? [] : [[name, source[name]]])));
  const parsed = schema.safeParse(input);
  const problems = (parsed.error?.issues ?? []).map((issue) => describeIssue(schema, issue, source));
  problems.push(...ruleProblems(schema, source));
  if (parsed.success && problems.length === 0) return parsed.data;
  throw invalid([...new Set(problems)]);
}

/**
 * Which queue backend the environment asks for, and why.
 * @throws CodedError `ENV.INVALID` (loadEnv finds the same problem earlier, among the others).
 */
export function resolveQueueBackend(env: QueueBackendInput): QueueBackendChoice {
  const chosen = chooseQueueBackend(env);
  if ("problem" in chosen) throw invalid([chosen.problem]);
  return chosen;
}

function describeIssue(schema: z.ZodObject, issue: z.core.$ZodIssue, source: Source): string {
  const name = String(issue.path[0] ?? "environment");
  const field = schema.shape[name];
  const value = source[name];
  const printable = field !== undefined && metaOf(field as z.ZodType).printable;
  if (value === undefined) return `${name}: ${issue.message.includes("got none") ? issue.message : `${issue.message}, got none`}`;
  return `${name}: ${issue.message}, got ${value === "" ? "an empty value" : printable ? JSON.stringify(value.slice(0, 80)) : "another (not shown)"}`;
}

function ruleProblems(schema: z.ZodObject, source: Source): string[] {
  return ENV_RULES.flatMap((rule) => {
    const values: Record<string, unknown> = {};
    for (const name of rule.names) {
      const field = schema.shape[name];
      if (field === undefined) return [];
      const parsed = (field as z.ZodType).safeParse(source[name]);
      if (!parsed.success) return [];
      values[name] = parsed.data;
    }
    return rule.check(values) ?? [];
  });
}

function invalid(problems: string[]): CodedError {
  return new CodedError(
    "ENV.INVALID",
    `expected a valid environment, got ${problems.length} problem(s):\n${problems.map((line) => `  - ${line}`).join("\n")}`,
    { facts: { problems } },
  );
}
