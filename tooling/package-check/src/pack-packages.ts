import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "@toolctrl/docs-check/repository";
import { PACKED, run } from "./repository.ts";

const LIBRARIES = "./packages/*";

/** Builds every library and leaves its tarball in `.data/packages`, and no other there. */
export function packPackages(): void {
  const { packageManager } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { packageManager: string };
  const pnpm = (...args: string[]): void => run("npx", ["--yes", packageManager, "--silent", ...args]);
  rmSync(PACKED, { recursive: true, force: true });
  pnpm("exec", "turbo", "run", "build", `--filter=${LIBRARIES}`, "--output-logs=errors-only");
  pnpm("--recursive", "--filter", LIBRARIES, "pack", "--pack-destination", PACKED);
}
