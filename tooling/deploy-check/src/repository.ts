import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the repository. */
export const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** The text of a file of the repository. */
export function readText(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** A package.json, as far as it matters here. */
export interface Manifest {
  readonly name: string;
  readonly packageManager?: string;
  readonly files?: readonly string[];
  readonly exports?: Readonly<Record<string, { readonly source: string }>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readText(join(folder, "package.json"))) as Manifest;
}
