import { parseSync, visitorKeys, type Node } from "oxc-parser";

/** A name that a module takes from another one; what is taken for its type alone is left out. */
export interface Import {
  readonly from: string;
  /** `*`: all that the other module has. */
  readonly name: string;
}

export interface Call {
  /** As it is written: `startRun`, `service.run`. */
  readonly callee: string;
  /** The functions around it by name, outermost first. */
  readonly within: readonly string[];
  readonly args: readonly Node[];
}

/** What the rules ask of a module. Comments say nothing here. */
export interface ModuleFacts {
  readonly imports: readonly Import[];
  /** In the order in which they are written. */
  readonly calls: readonly Call[];
  readonly identifiers: ReadonlySet<string>;
  /** Of literals and templates. */
  readonly texts: readonly string[];
}

export function readFacts(path: string, text: string): ModuleFacts {
  const { module, program } = parseSync(path, text);
  const calls: Call[] = [];
  const identifiers = new Set<string>();
  const texts: string[] = [];
  walk(program, [], (node, within) => {
    if (node.type === "CallExpression") calls.push({ callee: nameOf(node.callee), within, args: node.arguments });
    if (node.type === "Identifier") identifiers.add(node.name);
    if (node.type === "Literal" && typeof node.value === "string") texts.push(node.value);
    if (node.type === "TemplateElement") texts.push(node.value.raw);
  });
  return { imports: importsOf(module, text), calls, identifiers, texts };
}

type Module = ReturnType<typeof parseSync>["module"];

function importsOf({ staticImports, staticExports, dynamicImports }: Module, text: string): Import[] {
  const imported = staticImports.flatMap(({ moduleRequest, entries }) =>
    entries.filter(({ isType }) => !isType).map(({ importName }) => ({ from: moduleRequest.value, name: importName.name ?? "*" })),
  );
  const passedOn = staticExports
    .flatMap(({ entries }) => entries)
    .flatMap(({ moduleRequest, importName, isType }) =>
      moduleRequest === null || isType ? [] : [{ from: moduleRequest.value, name: importName.name ?? "*" }],
    );
  const loaded = dynamicImports.map(({ moduleRequest: { start, end } }) => ({ from: text.slice(start + 1, end - 1), name: "*" }));
  return [...imported, ...passedOn, ...loaded];
}

function walk(node: Node, within: readonly string[], visit: (node: Node, within: readonly string[]) => void): void {
  visit(node, within);
  const name = functionNameOf(node);
  const inside = name === null ? within : [...within, name];
  for (const key of visitorKeys[node.type] ?? []) {
    const child = (node as unknown as Record<string, Node | (Node | null)[] | null>)[key];
    for (const each of Array.isArray(child) ? child : [child]) if (each !== null && each !== undefined) walk(each, inside, visit);
  }
}

/** The name of what holds a function: its own, or that of the property or constant it is given to. */
function functionNameOf(node: Node): string | null {
  if (node.type === "FunctionDeclaration") return node.id?.name ?? null;
  if (node.type === "Property" || node.type === "MethodDefinition") return isFunction(node.value) ? nameOf(node.key) : null;
  if (node.type === "VariableDeclarator" && node.init !== null && isFunction(node.init)) return nameOf(node.id);
  return null;
}

function isFunction({ type }: Node): boolean {
  return type === "ArrowFunctionExpression" || type === "FunctionExpression";
}

/** A name as it is written, with the objects that it is a member of; `?` where that is no name. */
export function nameOf(node: Node): string {
  if (node.type === "Identifier") return node.name;
  if (node.type === "Literal") return String(node.value);
  if (node.type === "MemberExpression")
    return `${nameOf(node.object)}.${node.computed && node.property.type === "Identifier" ? "?" : nameOf(node.property)}`;
  return node.type === "ThisExpression" ? "this" : "?";
}
