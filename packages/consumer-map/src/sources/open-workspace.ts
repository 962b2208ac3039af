import { createHash } from "node:crypto";
import { globSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { z } from "zod";
import { listImports } from "./list-imports.ts";

/** The sources of a checkout, each read and parsed once. Paths are relative to its root, with slashes, on every system. */
export interface Workspace {
  has(path: string): boolean;
  /** The files of the workspace that a file imports. */
  importsOf(path: string): readonly string[];
  /** A file's text, with the line ends of every checkout alike. */
  textOf(path: string): string;
  /** Of a file's text. */
  digestOf(path: string): string;
  /** The files that match a pattern, in order. */
  list(pattern: string): readonly string[];
}

const manifestSchema = z.object({
  name: z.string(),
  /** By their `source` condition; tooling, which is never built, names its sources alone. */
  exports: z.record(z.string(), z.union([z.string(), z.object({ source: z.string() }).transform(({ source }) => source)])).optional(),
});

type Manifest = z.output<typeof manifestSchema> & { readonly folder: string };

/** Installed, built or generated: made from the sources and no part of them. */
const MADE = /(^|\/)(node_modules|dist|generated)\//;

/** @param instead texts that stand in for those of files, to look at a change that nobody has made */
export function openWorkspace(root: string, instead: ReadonlyMap<string, string> = new Map()): Workspace {
  const packages = readManifests(root);
  const read = memoized((path) => instead.get(path) ?? readFileSync(join(root, path), "utf8").replaceAll("\r\n", "\n"));
  return {
    has: memoized((path) => !MADE.test(path) && statSync(join(root, path), { throwIfNoEntry: false })?.isFile() === true),
    importsOf: memoized((path) =>
      listImports(path, read(path)).flatMap((specifier) => {
        const target = resolve(packages, path, specifier);
        return target === null || MADE.test(target) ? [] : [target];
      }),
    ),
    textOf: read,
    digestOf: memoized((path) => createHash("sha256").update(read(path)).digest("hex")),
    list: (pattern) =>
      globSync(pattern, { cwd: root })
        .map((path) => path.replaceAll("\\", "/"))
        .sort(),
  };
}

/** Null for what is not of the workspace. An export that is not there resolves to a file that is not there. */
function resolve(packages: ReadonlyMap<string, Manifest>, from: string, specifier: string): string | null {
  if (specifier.startsWith(".")) return join(dirname(from), specifier);
  const [scope = "", name = "", ...rest] = specifier.split("/");
  const found = packages.get(`${scope}/${name}`);
  if (found === undefined) return null;
  const source = found.exports?.[[".", ...rest].join("/")];
  return join(found.folder, source ?? `package.json#${rest.join("/")}`);
}

function readManifests(root: string): Map<string, Manifest> {
  const manifests = globSync("{apps,packages,tooling}/*/package.json", { cwd: root }).map((path) => {
    const manifest = manifestSchema.parse(JSON.parse(readFileSync(join(root, path), "utf8")));
    return [manifest.name, { ...manifest, folder: dirname(path.replaceAll("\\", "/")) }] as const;
  });
  return new Map(manifests);
}

function memoized<T>(read: (path: string) => T): (path: string) => T {
  const known = new Map<string, T>();
  return (path) => {
    const value = known.get(path) ?? read(path);
    known.set(path, value);
    return value;
  };
}
