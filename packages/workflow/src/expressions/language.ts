import { Environment } from "@marcbachmann/cel-js";
import { has, hasPath, holds, joinTexts, made, members, read, readPath, Scope } from "./functions.ts";

/** Nodes of the syntax tree, and how deep it may be. A comparison of `trigger.order.total` with a number has five nodes. */
export const LIMITS = { maxAstNodes: 60, maxDepth: 60 };

/** What an expression becomes before it runs has more of both, in proportion. */
const INNER_LIMITS = { maxAstNodes: LIMITS.maxAstNodes * 10, maxDepth: LIMITS.maxDepth * 10 };

/** The names under which the engine has the variables, and the room for what it makes. */
export const VARIABLES = "__variables";
export const ROOM = "__room";

const SYNC = { async: false };

/** `language` is what people write, `engine` what it is rewritten to (see rewrite.ts). */
export interface Environments {
  readonly language: Environment;
  readonly engine: Environment;
}

let known: Environments | undefined;

export function environments(): Environments {
  if (known !== undefined) return known;
  const language = createLanguage();
  known = { language, engine: createEngine(language) };
  return known;
}

function createLanguage(): Environment {
  const language = new Environment({ unlistedVariablesAreDyn: true, homogeneousAggregateLiterals: false, limits: LIMITS });
  addMixedArithmetic(language);
  addNull(language);
  return language;
}

/** JSON has one kind of number, the engine two: every number of the data is a double, every whole number that is written down an int. */
function addMixedArithmetic(language: Environment): void {
  const operators: Record<string, (left: number, right: number) => number> = {
    "+": (left, right) => left + right,
    "-": (left, right) => left - right,
    "*": (left, right) => left * right,
    "/": (left, right) => left / right,
    "%": (left, right) => left % right,
  };
  for (const [sign, apply] of Object.entries(operators)) {
    const handler = (left: bigint | number, right: bigint | number): number => apply(Number(left), Number(right));
    language.registerOperator(`double ${sign} int: double`, handler);
    language.registerOperator(`int ${sign} double: double`, handler);
  }
  language.registerOperator("double % double: double", (left: number, right: number) => left % right);
}

/** Questions about something that is not there have an answer: no. Without these each would be an error that depends on the data. */
function addNull(language: Environment): void {
  const no = (): boolean => false;
  const types = ["int", "double", "string", "bool", "google.protobuf.Timestamp", "google.protobuf.Duration"];
  for (const sign of ["<", "<=", ">", ">="]) {
    language.registerOperator(`null ${sign} null: bool`, no);
    for (const type of types) {
      language.registerOperator(`null ${sign} ${type}: bool`, no);
      language.registerOperator(`${type} ${sign} null: bool`, no);
    }
  }
  language.registerOperator("dyn in null: bool", no);
  for (const name of ["contains", "startsWith", "endsWith"]) {
    language.registerFunction(`null.${name}(string): bool`, no, SYNC);
    language.registerFunction(`null.${name}(null): bool`, no, SYNC);
    language.registerFunction(`string.${name}(null): bool`, no, SYNC);
  }
  language.registerFunction("null.size(): int", () => 0n, SYNC);
  language.registerFunction("size(null): int", () => 0n, SYNC);
}

/** The functions that rewrite.ts writes. Nobody can call them: a name of the language has no `__` in front. */
function createEngine(language: Environment): Environment {
  return language
    .clone({ limits: INNER_LIMITS })
    .registerType("Scope", Scope)
    .registerVariable(VARIABLES, "Scope")
    .registerFunction("__path(Scope, list<string>): dyn", readPath, SYNC)
    .registerFunction("__hasPath(Scope, list<string>): bool", hasPath, SYNC)
    .registerFunction("__read(dyn, dyn): dyn", read, SYNC)
    .registerFunction("__has(dyn, dyn): bool", has, SYNC)
    .registerFunction("__holds(dyn): bool", holds, SYNC)
    .registerFunction("__members(dyn): dyn", members, SYNC)
    .registerFunction("__made(dyn, dyn): dyn", made, SYNC)
    .registerFunction("__join(dyn, dyn): string", joinTexts, SYNC)
    .registerFunction("__join(dyn, dyn, dyn): string", joinTexts, SYNC);
}
