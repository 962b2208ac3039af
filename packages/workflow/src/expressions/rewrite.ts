import type { ASTNode } from "@marcbachmann/cel-js";
import { assertNever } from "@toolctrl/foundation/errors";
import { ExpressionProblem } from "./expression-problem.ts";
import { FUNCTIONS } from "./functions.ts";
import { ROOM, VARIABLES } from "./language.ts";

/** The text that is run, and the place in what was written for a place in it. */
export interface Rewritten {
  readonly text: string;
  originOf(offset: number): number;
}

/** Names of the loops around a node. */
type Bound = ReadonlySet<string>;
/** A text, or a node that is written in its place, as the argument of a function when there is one. */
type Part = string | { readonly node: ASTNode; readonly bound: Bound; readonly within?: "__holds" };
type IsConstant = (name: string) => boolean;
type NodeOf<Op extends ASTNode["op"]> = Extract<ASTNode, { op: Op }>;

/** Loops over a list, with how many arguments: a name, then a condition. With two, `map` has none. */
const LOOPS: Record<string, readonly number[]> = { all: [2], exists: [2], exists_one: [2], filter: [2], map: [2, 3] };

/** Methods that make a text of their own, or a list, of a long one. */
const MAKERS = new Set(["lowerAscii", "split", "upperAscii"]);

/**
 * Writes an expression down once more, with what the engine's language leaves open said in words:
 *
 * - a path reads through `__path` or, where it is computed, `__read`, which know null; the engine throws at the first member that is missing;
 * - what decides (`!`, `&&`, `||`, `?:`, the condition of a loop) goes through `__holds`, the one rule for conditions;
 * - loops go through `__members`, to which null is an empty list;
 * - what makes long texts and lists goes through `__made` and `__join`, which limit them.
 *
 * @param isConstant whether the engine has a value of its own under a name, as for `string`
 * @throws ExpressionProblem for what the engine has and the language does not: other functions, bytes, unsigned numbers, names with `__` in front
 */
export function rewrite(ast: ASTNode, isConstant: IsConstant): Rewritten {
  const marks: Array<readonly [at: number, origin: number]> = [];
  let text = "";
  const write = (part: Part): void => {
    if (typeof part === "string") {
      text += part;
      return;
    }
    const { node, bound, within } = part;
    marks.push([text.length, node.pos]);
    if (within !== undefined) text += `${within}(`;
    marks.push([text.length, node.pos]);
    partsOf(node, bound, isConstant).forEach(write);
    if (within !== undefined) text += ")";
  };
  write({ node: ast, bound: new Set() });
  return { text, originOf: (offset) => marks.findLast(([at]) => at <= offset)?.[1] ?? 0 };
}

function partsOf(node: ASTNode, bound: Bound, isConstant: IsConstant): Part[] {
  const path = pathOf(node, bound, isConstant);
  if (path !== null) return [`__path(${VARIABLES}, ${JSON.stringify(path)})`];
  const sub = (child: ASTNode): Part => ({ node: child, bound });
  const condition = (child: ASTNode): Part => ({ node: child, bound, within: "__holds" });
  switch (node.op) {
    case "value":
      return [literalOf(node)];
    case "id":
      return [node.args];
    case ".":
    case ".?":
      return ["__read(", sub(node.args[0]), ", ", JSON.stringify(node.args[1]), ")"];
    case "[]":
    case "[?]":
      return ["__read(", sub(node.args[0]), ", ", sub(node.args[1]), ")"];
    case "call":
      return callOf(node, bound, isConstant);
    case "rcall":
      return methodOf(node, bound);
    case "list":
      return ["[", ...listOf(node.args, bound), "]"];
    case "map":
      return ["{", ...node.args.flatMap(([key, value], index) => [index === 0 ? "" : ", ", sub(key), ": ", sub(value)]), "}"];
    case "?:":
      return ["(", condition(node.args[0]), " ? ", sub(node.args[1]), " : ", sub(node.args[2]), ")"];
    case "&&":
    case "||":
      return ["(", condition(node.args[0]), ` ${node.op} `, condition(node.args[1]), ")"];
    case "!_":
      return ["(!", condition(node.args), ")"];
    case "-_":
      return ["(-", sub(node.args), ")"];
    case "+":
      return [`__made(${ROOM}, `, sub(node.args[0]), " + ", sub(node.args[1]), ")"];
    default:
      return ["(", sub(node.args[0]), ` ${node.op} `, sub(node.args[1]), ")"];
  }
}

function listOf(nodes: readonly ASTNode[], bound: Bound): Part[] {
  return nodes.flatMap((node, index): Part[] => [index === 0 ? "" : ", ", { node, bound }]);
}

/** The names of a path from the variables, such as `steps["find-lead"].status`; null for anything else. */
function pathOf(node: ASTNode, bound: Bound, isConstant: IsConstant): string[] | null {
  if (node.op === "id") return bound.has(checkName(node, node.args)) || isConstant(node.args) ? null : [node.args];
  if (node.op !== "." && node.op !== "[]") return null;
  const [left, key] = node.args;
  const name = typeof key === "string" ? key : key.op === "value" ? key.args : null;
  const before = typeof name === "string" ? pathOf(left, bound, isConstant) : null;
  return before === null ? null : [...before, name as string];
}

function callOf(node: NodeOf<"call">, bound: Bound, isConstant: IsConstant): Part[] {
  const [name, args] = node.args;
  if (!FUNCTIONS.call.has(name)) throw new ExpressionProblem(node.pos, "a function of the language", name);
  if (name !== "has") return [name, "(", ...listOf(args, bound), ")"];
  const [member] = args;
  if (args.length !== 1 || member?.op !== ".") throw new ExpressionProblem(node.pos, "has() to be given a path", "something else");
  const path = pathOf(member, bound, isConstant);
  if (path !== null) return [`__hasPath(${VARIABLES}, ${JSON.stringify(path)})`];
  return ["__has(", { node: member.args[0], bound }, ", ", JSON.stringify(member.args[1]), ")"];
}

function methodOf(node: NodeOf<"rcall">, bound: Bound): Part[] {
  const [name, receiver, args] = node.args;
  if (!FUNCTIONS.rcall.has(name)) throw new ExpressionProblem(node.pos, "a function of the language", name);
  const on: Part = { node: receiver, bound };
  if (LOOPS[name]?.includes(args.length) === true) return loopOf(node, bound);
  if (name === "join") return [`__join(${ROOM}, `, on, args.length === 0 ? "" : ", ", ...listOf(args, bound), ")"];
  const call: Part[] = ["(", on, ").", name, "(", ...listOf(args, bound), ")"];
  return MAKERS.has(name) ? [`__made(${ROOM}, `, ...call, ")"] : call;
}

function loopOf(node: NodeOf<"rcall">, bound: Bound): Part[] {
  const [name, receiver, [variable, ...rest]] = node.args;
  if (variable?.op !== "id") throw new ExpressionProblem(node.pos, `${name}() to be given a name first`, "something else");
  const inner = new Set([...bound, checkName(variable, variable.args)]);
  const last = rest.length - 1;
  const isMapping = name === "map";
  const parts = rest.flatMap((child, index): Part[] => {
    const made: Part = { node: child, bound: inner };
    return [", ", isMapping && index === last ? made : { ...made, within: "__holds" }];
  });
  return ["__members(", { node: receiver, bound }, ").", name, "(", variable.args, ...parts, ")"];
}

function checkName(node: ASTNode, name: string): string {
  if (name.startsWith("__")) throw new ExpressionProblem(node.pos, "a name without __ in front", name);
  return name;
}

function literalOf({ pos, args }: NodeOf<"value">): string {
  switch (typeof args) {
    case "string":
      return JSON.stringify(args);
    case "number":
      // Without a point or an exponent it would come back as the engine's other kind of number.
      return Number.isInteger(args) && !String(args).includes("e") ? `${args}.0` : String(args);
    case "bigint":
    case "boolean":
      return String(args);
    case "object":
      if (args === null) return "null";
      throw new ExpressionProblem(pos, "a value that JSON has", "bytes or an unsigned number");
    default:
      return assertNever(args);
  }
}
