import type { Workspace } from "./open-workspace.ts";

export interface ImportClosure {
  /** The files, in order. */
  readonly files: readonly string[];
  /** Files that are named and not there, each with who names it. */
  readonly missing: readonly string[];
}

/**
 * The files that some files reach through imports inside the workspace, themselves included. `follow` says which ones are counted and
 * looked into; by default all.
 */
export function importClosure(
  workspace: Workspace,
  entries: readonly string[],
  follow: (path: string) => boolean = () => true,
): ImportClosure {
  const files = new Set<string>();
  const missing = new Set<string>();
  const open = entries.map((path) => ({ path, by: "" }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { path, by } = next;
    if (files.has(path) || !follow(path)) continue;
    if (!workspace.has(path)) {
      // A folder named beside a module is no file of its own.
      if (/\.\w/.test(path)) missing.add(by === "" ? path : `${path} (imported by ${by})`);
      continue;
    }
    files.add(path);
    if (!/\.[cm]?[jt]s$/.test(path)) continue;
    for (const target of workspace.importsOf(path)) open.push({ path: target, by: path });
  }
  return { files: [...files].sort(), missing: [...missing].sort() };
}
