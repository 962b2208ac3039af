import { execFile } from "node:child_process";
import { globSync, statSync } from "node:fs";
import { cp, mkdir } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { promisify } from "node:util";
import type { Ignore } from "./read-ignore.ts";

const run = promisify(execFile);

/** Does what COPY does: of a folder its contents, of a file the file; a pattern may match nothing. Links are kept as they are. */
export async function copyFiles(
  from: { readonly root: string; readonly ignore?: Ignore },
  sources: readonly string[],
  target: string,
): Promise<void> {
  const { root, ignore = () => false } = from;
  const filter = (path: string): boolean => {
    const inside = relative(root, path);
    return inside === "" || !ignore(inside);
  };
  await mkdir(target, { recursive: true });
  for (const source of sources) {
    const wanted = relative("/", join("/", source)) || ".";
    const found = /[*?[]/.test(wanted) ? globSync(wanted, { cwd: root }).filter((path) => !ignore(path)) : [wanted];
    for (const path of found) {
      const full = join(root, path);
      const isFolder = statSync(full).isDirectory();
      if (from.ignore !== undefined) await cp(full, isFolder ? target : join(target, basename(path)), { recursive: true, filter });
      // A folder with thousands of installed files: `cp` takes a fraction of the time.
      else await run("cp", ["-RPp", isFolder ? `${full}/.` : full, target]);
    }
  }
}
