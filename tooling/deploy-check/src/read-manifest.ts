import { join } from "node:path";
import { readText } from "@toolctrl/docs-check/repository";

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
