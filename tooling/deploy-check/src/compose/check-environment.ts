import { isCodedError } from "@toolctrl/foundation/errors";
import { describeEnv, type EnvVariable } from "@toolctrl/runtime/env";
import type { z } from "zod";
import type { Program } from "../programs.ts";
import type { Service } from "./read-compose.ts";
import { interpolate, variablesOf } from "./variables.ts";

type Environment = NonNullable<Service["environment"]>;

/** Stands in for a secret that a program does not read, where the platform would hand it over. An empty text could count as unset there. */
const WITHHELD = "none";

/**
 * What is wrong with a service's environment: each variable of its program is given and no other one, with the program's own default, and
 * what comes of it is what the program accepts.
 * @param secrets names of what this program must not get although the platform has it for all
 */
export function checkEnvironment(
  { environment = {} }: Service,
  { shape, read }: Pick<Program, "shape" | "read">,
  values: Readonly<Record<string, string>>,
  secrets: readonly string[],
): string[] {
  const variables = describeEnv(shape);
  const withheld = secrets.filter((name) => shape[name] === undefined);
  const open = withheld
    .filter((name) => environment[name] !== WITHHELD)
    .map((name) => `expected no ${name} but the word ${WITHHELD}, as it does not read it`);
  const own = Object.entries(environment).filter(([name]) => !name.startsWith("SERVICE_") && !withheld.includes(name));
  const absent = variables.filter(({ name }) => environment[name] === undefined).map(({ name }) => `expected ${name}, got none`);
  // A variable that nobody reads is a mistake, or somebody else's secret.
  const foreign = own.filter(([name]) => shape[name] === undefined).map(([name]) => `expected no ${name}, which it does not read`);
  const wrong = variables.flatMap((variable) => valueProblem(variable, environment[variable.name]) ?? []);
  if (absent.length + foreign.length + wrong.length + open.length > 0) return [...absent, ...foreign, ...wrong, ...open];
  return readProblems(environment, read, values);
}

/** Null when a value is a constant, or a reference to the variable of the same name with the program's own default. */
function valueProblem({ name, required, fallback }: EnvVariable, value: string | null | undefined): string | null {
  if (value === undefined) return null;
  if (value === null) return `expected a value for ${name}, got none`;
  const [reference] = variablesOf(value);
  if (reference === undefined || reference.name !== name) return null;
  if (reference.kind === "plain") return `expected \${${name}:-…} or \${${name}:?…}, got ${value}`;
  if (reference.kind === "required") return null;
  if (required) return `expected \${${name}:?…}, as there is no default, got ${value}`;
  return reference.text === (fallback ?? "") ? null : `expected the default of ${name} to be ${fallback ?? "empty"}, got ${reference.text}`;
}

function readProblems(environment: Environment, read: Program["read"], values: Readonly<Record<string, string>>): string[] {
  try {
    read(environmentOf(environment, values));
    return [];
  } catch (error) {
    const { facts } = isCodedError(error) ? error : {};
    const { problems } = (facts ?? {}) as { problems?: readonly string[] };
    return problems === undefined ? [(error as Error).message] : [...problems];
  }
}

/** What a container gets of some values. @throws Error for a required one that is missing */
export function environmentOf(environment: Environment, values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value === null ? [] : [[name, interpolate(value, values)]])),
  );
}

/** The names of all variables whose values may be secret: those that error messages do not print. */
export function secretsOf(programs: ReadonlyArray<Pick<Program, "shape">>): string[] {
  const fields = programs.flatMap(({ shape }) => Object.entries(shape));
  const secret = fields.filter(([, field]) => (field as z.ZodType).meta()?.["printable"] !== true).map(([name]) => name);
  return [...new Set(secret)];
}
