import { readFileSync } from "node:fs";
import { createPackageFromTarballData } from "@arethetypeswrong/core";

/** An export of a package: a file, or a file for each condition, of which the first that fits is taken. */
export type ExportTarget = string | Readonly<Record<string, string>>;

/** What is looked at of a package.json. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly files?: readonly string[];
  readonly exports?: Readonly<Record<string, ExportTarget>>;
  readonly publishConfig?: { readonly exports?: Readonly<Record<string, ExportTarget>> };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly engines?: Readonly<Record<string, string>>;
}

/** A package as its tarball has it. */
export interface PackedPackage {
  readonly manifest: Manifest;
  /** Text by path, relative to the package. */
  readonly files: ReadonlyMap<string, string>;
}

export function readPackedPackage(tarball: string): PackedPackage {
  const content = createPackageFromTarballData(readFileSync(tarball));
  const folder = `/node_modules/${content.packageName}/`;
  const files = content.listFiles().map((path) => [path.slice(folder.length), content.readFile(path)] as const);
  return packedPackageOf(new Map(files));
}

/** @throws Error when there is no package.json among the files. */
export function packedPackageOf(files: ReadonlyMap<string, string>): PackedPackage {
  const text = files.get("package.json");
  if (text === undefined) throw new Error(`expected a package.json, got ${[...files.keys()].join(", ")}`);
  return { manifest: JSON.parse(text) as Manifest, files };
}

/** What a product writes to import each export: `@toolctrl/db/client`. */
export function specifiersOf({ name, exports = {} }: Manifest): string[] {
  return Object.keys(exports).map((subpath) => `${name}${subpath.slice(1)}`);
}
