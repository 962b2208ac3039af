import { ExpressionProblem } from "./expression-problem.ts";
import { createRoom, Scope } from "./functions.ts";
import { ROOM, VARIABLES, type Environments } from "./language.ts";
import { problemOf } from "./problem-of.ts";
import { rewrite } from "./rewrite.ts";

/** Characters of an expression. */
const MAX_SOURCE = 2000;

/** An expression that can be run. @throws ExpressionProblem when what it asks of its data cannot be done */
export type Compiled = (variables: object) => unknown;

/**
 * Parses an expression and checks its types, as far as they are known without data.
 * @throws ExpressionProblem with the place
 */
export function compile(source: string, { language, engine }: Environments): Compiled {
  if (source.length > MAX_SOURCE) throw new ExpressionProblem(MAX_SOURCE, `at most ${MAX_SOURCE} characters`, String(source.length));
  if (!source.isWellFormed()) throw new ExpressionProblem(null, "well-formed Unicode", "half of a surrogate pair");
  const here = (offset: number): number => offset;
  const parsed = attempt(() => language.parse(source), source, here);
  const { text, originOf } = rewrite(parsed.ast, (name) => language.hasVariable(name));
  attempt(() => requireTypes(parsed.check()), source, here);
  const program = attempt(() => engine.parse(text), source, originOf);
  attempt(() => requireTypes(program.check()), source, originOf);
  return (variables) => attempt(() => program({ [VARIABLES]: new Scope(variables), [ROOM]: createRoom() }) as unknown, source, originOf);
}

function requireTypes({ valid, error }: { readonly valid: boolean; readonly error?: Error }): void {
  if (!valid) throw error ?? new Error("expected types that fit");
}

function attempt<T>(run: () => T, source: string, originOf: (offset: number) => number): T {
  try {
    return run();
  } catch (error) {
    throw problemOf(error, source, originOf);
  }
}
