import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startWatchdog } from "./watchdog.ts";

/** A directory where the run's Node processes keep what they compiled. */
export interface CompileCache {
  readonly dir: string;
  /** Removes it. */
  close(): Promise<void>;
}

/**
 * Makes the run's compile cache. Half of what a short-lived process does is resolving types away and compiling the same files as the one
 * before it. The directory goes with the run, however that ends.
 */
export async function createCompileCache(): Promise<CompileCache> {
  const dir = await mkdtemp(join(tmpdir(), "toolctrl-compiled-"));
  const watchdog = startWatchdog({ signal: "KILL", removeDir: dir });
  return { dir, close: () => watchdog.close() };
}

/** The environment of a Node process of this run: where its compile cache is; empty outside of a run. */
export function compileCacheEnv(): Record<string, string> {
  const dir = process.env.TESTKIT_COMPILE_CACHE;
  return dir === undefined ? {} : { NODE_COMPILE_CACHE: dir };
}
