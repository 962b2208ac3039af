import { importClosure, openWorkspace, type Workspace } from "@toolctrl/consumer-map/sources";
import { readFacts, type ModuleFacts } from "./read-facts.ts";

/** The modules of a checkout, as the rules look at them. */
export interface Sources {
  /** The product's own modules, without their tests. */
  readonly product: readonly string[];
  /** Those, their tests, and the tooling. */
  readonly all: readonly string[];
  textOf(path: string): string;
  factsOf(path: string): ModuleFacts;
  /** The modules of the product that take a name from another one. A module that takes all of another one, takes that name too. */
  importersOf(name: string, from: RegExp): string[];
  /** What a program that begins with this module loads, itself included. */
  closureOf(path: string): readonly string[];
  /** The same with another text of one module, to look at a change that nobody has made. */
  with(path: string, text: string): Sources;
}

export function openSources(root: string): Sources {
  return sourcesOf(openWorkspace(root), remembered());

  function sourcesOf(workspace: Workspace, facts: (path: string, text: string) => ModuleFacts): Sources {
    const factsOf = (path: string): ModuleFacts => facts(path, workspace.textOf(path));
    const all = workspace.list("{apps,packages,tooling}/*/{src,test,scripts}/**/*.ts").filter((path) => !path.includes("/generated/"));
    const product = all.filter((path) => /^(?:apps|packages)\/[^/]+\/src\//.test(path) && !/[.-]test(?:-d)?\.ts$/.test(path));
    return {
      all,
      product,
      textOf: workspace.textOf,
      factsOf,
      importersOf: (name, from) =>
        product.filter((path) => factsOf(path).imports.some((each) => from.test(each.from) && (each.name === name || each.name === "*"))),
      closureOf: (path) => importClosure(workspace, [path]).files,
      with(changed, text) {
        const other = openWorkspace(root, new Map([[changed, text]]));
        const of = (path: string): Workspace => (path === changed ? other : workspace);
        const textOf = (path: string): string => of(path).textOf(path);
        return sourcesOf({ ...workspace, textOf, importsOf: (path) => of(path).importsOf(path) }, facts);
      },
    };
  }
}

/** Each text is parsed once, whoever asks. */
function remembered(): (path: string, text: string) => ModuleFacts {
  const known = new Map<string, { readonly text: string; readonly facts: ModuleFacts }>();
  return (path, text) => {
    const found = known.get(path);
    if (found?.text === text) return found.facts;
    const facts = readFacts(path, text);
    if (found === undefined) known.set(path, { text, facts });
    return facts;
  };
}
