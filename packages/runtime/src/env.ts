import { CodedError, isCodedError } from "@toolctrl/foundation/errors";
import type { z } from "zod";
import { metaOf } from "./env-fields.ts";
import { chooseQueueBackend, ENV_RULES, type EnvRule, type QueueBackendChoice, type QueueBackendInput } from "./env-rules.ts";

export { choice, clampedInteger, flag, integer, optionalChoice, optionalText, optionalUrl, text, url } from "./env-fields.ts";
export { lessThan, type EnvRule, type EnvValues } from "./env-rules.ts";
export { databaseEnv, outboundEnv, outboxEnv, processEnv, queueEnv, receiverEnv, workerEnv } from "./env-shapes.ts";
export { describeEnv, renderEnvTable, type EnvVariable } from "./describe-env.ts";

type Source = Readonly<Record<string, string | undefined>>;

/**
 * Reads an app's environment by its schema. Variables the schema does not name are ignored.
 *
 * A wrong value is never replaced by a default. Values of variables that may hold a secret are not printed. `rules` over several
 * variables are the app's own, beside those of the shared ones; a refinement of the schema would stay silent while any value is wrong.
 * @throws CodedError `ENV.INVALID` listing every problem at once, those over several variables included; `facts.problems` has the lines.
 */
export function loadEnv<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  source: Source = process.env,
  rules: readonly EnvRule[] = [],
): z.infer<z.ZodObject<Shape>> {
  const names = Object.keys(schema.shape);
  // Absent, not undefined: exact optional fields tell the two apart.
  const input = Object.fromEntries(names.flatMap((name) => (source[name] === undefined ? [] : [[name, source[name]]])));
  const parsed = schema.safeParse(input);
  const problems = (parsed.error?.issues ?? []).map((issue) => describeIssue(schema, issue, source));
  problems.push(...ruleProblems(schema, source, [...ENV_RULES, ...rules]));
  if (parsed.success && problems.length === 0) return parsed.data;
  throw invalid([...new Set(problems)]);
}

/** What `read` gives. A bad environment is written to the error output for a person, without a stack, and ends the process with 1. */
export function envOrExit<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!isCodedError(error) || error.code !== "ENV.INVALID") throw error;
    process.stderr.write(`error ${error.code}: ${error.message}\nnext: ${error.fix}\n`);
    return process.exit(1);
  }
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

function ruleProblems(schema: z.ZodObject, source: Source, rules: readonly EnvRule[]): string[] {
  return rules.flatMap((rule) => {
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
