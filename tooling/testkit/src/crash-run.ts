import { mkdtempSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { track } from "./tracked.ts";

export interface CrashPointOptions {
  /** The ports whose connections count, with a label each, e.g. `{ 5433: "sql", 6380: "redis" }`. */
  ports: Record<number, string>;
  /** SIGKILL right after this call, counted from 1. Without it the calls are only counted. */
  afterCall?: number;
  /**
   * Calls that are not counted: those whose description (`redis: bzpopmin …`) or text matches; case does not matter. What a timer sends
   * belongs here, or the count depends on the clock.
   */
  ignore?: RegExp[];
  /** When counting begins: `call` (default) at `globalThis.__armCrashPoints?.()`, `start` at once, `signal` at SIGUSR2. */
  arm?: "call" | "start" | "signal";
}

export interface CrashPointRun {
  /** For `spawnNode`. */
  nodeArgs: string[];
  env: Record<string, string>;
  /** The calls counted so far, in order; there once the child has ended by itself, by a signal it handles, or at its crash point. */
  calls(): Promise<string[]>;
}

/**
 * What BullMQ sends by the clock rather than because of the product: waiting for jobs, keeping the claims of running ones alive, looking
 * for abandoned ones. On Redis its scripts are told apart by the number and the names of their keys, on Postgres by their SQL.
 */
export const BULLMQ_BACKGROUND: RegExp[] = [
  // A worker compares the clocks at boot, beside everything else: on a busy machine it is at it when the counting begins.
  /^redis: eval(sha)? \S+ 1 \S+:ping\b/i,
  /^redis: (bzpopmin|ping)\b/i,
  /^redis: eval(sha)? \S+ 2 \S+:lock \S+:stalled\b/i,
  /^redis: eval(sha)? \S+ [19] \S+:stalled\b/i,
  /^sql: .*\b(LISTEN bullmq_jobs|FROM move_stalled_jobs_to_wait\()/i,
  /^sql: .*\b(SELECT extend_locks?\(|WITH input AS \(\s+SELECT ids\.job_id, toks\.token)/i,
  /^sql: .*\b(FROM next_signal\(|SELECT next_delay\(|SELECT\s+EXISTS\(\s+SELECT 1 FROM job WHERE queue = \$1 AND state = 'waiting')/i,
];

/** Arguments and environment for a child that is counted, or that dies at its k-th call. */
export function crashPoints(options: CrashPointOptions): CrashPointRun {
  const directory = mkdtempSync(join(tmpdir(), "toolctrl-crash-"));
  track(`the directory ${directory}`, () => rm(directory, { recursive: true, force: true }));
  const countFile = join(directory, "calls.json");
  const preload = fileURLToPath(import.meta.resolve("./crash-points.ts"));
  return {
    nodeArgs: ["--import", preload],
    env: {
      CRASH_PORTS: Object.entries(options.ports)
        .map(([port, label]) => `${port}=${label}`)
        .join(","),
      CRASH_COUNT_FILE: countFile,
      CRASH_ARM: options.arm ?? "call",
      CRASH_IGNORE: JSON.stringify((options.ignore ?? []).map((pattern) => pattern.source)),
      ...(options.afterCall === undefined ? {} : { CRASH_AFTER_CALL: String(options.afterCall) }),
    },
    async calls() {
      const { calls } = JSON.parse(await readFile(countFile, "utf8")) as { calls: string[] };
      return calls;
    },
  };
}
