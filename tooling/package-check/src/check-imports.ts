import { isBuiltin } from "node:module";
import { parseSync } from "oxc-parser";
import type { PackedPackage } from "./packed-package.ts";

/** Packages that bring no types of their own. */
const TYPED_ELSEWHERE: ReadonlySet<string> = new Set(["pg"]);

/**
 * What is bundled that should be installed, and what is imported that nobody declares, a sentence each.
 *
 * A copy of BullMQ inside an ES module throws where it requires a part of itself; a copy of `pg` or of Prisma's client is another class
 * than the product's own.
 */
export function checkImports({ manifest, files }: PackedPackage): string[] {
  const { name: self, dependencies = {}, peerDependencies = {} } = manifest;
  const declared = new Set([self, ...Object.keys(dependencies), ...Object.keys(peerDependencies)]);
  const problems = new Set<string>();
  for (const [path, text] of files) {
    if (path.endsWith(".js.map"))
      for (const name of bundledIn(text)) problems.add(`expected ${name} to be imported, got a copy of it in ${path}`);
    if (!/^dist\/.*\.(?:js|d\.ts)$/.test(path)) continue;
    for (const name of importedBy(path, text)) {
      if (!declared.has(name)) problems.add(`expected ${name}, which ${path} imports, among the dependencies, got it missing`);
    }
  }
  return [...problems];
}

/** Packages whose code a bundle has: a source map names the files that the bundle was made of. */
function bundledIn(sourceMap: string): string[] {
  const { sources } = JSON.parse(sourceMap) as { sources: string[] };
  return sources.flatMap((source) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1] ?? []);
}

/** The packages that a module imports, by name. */
function importedBy(path: string, text: string): string[] {
  const { module } = parseSync(path, text);
  const requests = [
    ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...module.staticExports.flatMap(({ entries }) => entries.flatMap(({ moduleRequest }) => moduleRequest?.value ?? [])),
    ...module.dynamicImports.map(({ moduleRequest }) => text.slice(moduleRequest.start + 1, moduleRequest.end - 1)),
    ...(path.endsWith(".d.ts") ? [...text.matchAll(/\bimport\("([^"]+)"\)/g)].map(([, request = ""]) => request) : []),
  ];
  const names = requests.filter((request) => /^[@\w]/.test(request) && !isBuiltin(request)).map(packageOf);
  return path.endsWith(".d.ts") ? names.flatMap((name) => (TYPED_ELSEWHERE.has(name) ? [name, `@types/${name}`] : [name])) : names;
}

function packageOf(request: string): string {
  return request
    .split("/")
    .slice(0, request.startsWith("@") ? 2 : 1)
    .join("/");
}
