import { existsSync } from "node:fs";
import { join } from "node:path";

/** Whether the sources of the workspace lie under a folder; an image has none. */
export function holdsSources(repository: string): boolean {
  return existsSync(join(repository, "pnpm-workspace.yaml"));
}
