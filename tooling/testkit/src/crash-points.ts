/* oxlint-disable no-underscore-dangle -- the hook's name */
/**
 * A preload (`node --import`) that counts the calls of a process and ends it after one of them. It does nothing unless one of
 * CRASH_AFTER_CALL and CRASH_COUNT_FILE is set; `crashPoints` in `./crash-run` makes the environment.
 *
 * - CRASH_PORTS: `5433=sql,6380=redis`, the ports whose connections count, with a label each.
 * - CRASH_AFTER_CALL: SIGKILL right after the k-th call has been handed to the kernel, before any other code runs.
 * - CRASH_COUNT_FILE: where `{ count, calls }` is written at the end.
 * - CRASH_IGNORE: a JSON array of patterns; a call whose description or text matches one is not counted.
 * - CRASH_ARM: `call` (default: counting begins with `globalThis.__armCrashPoints?.()`), `start`, or `signal` (SIGUSR2).
 */
import { writeFileSync, writeSync } from "node:fs";
import { countedCall, type CountedCalls } from "./counted-call.ts";
import { hookWrites } from "./hook-writes.ts";

declare global {
  /** Begins to count; there only in a process that was started with crash points. */
  var __armCrashPoints: (() => void) | undefined;
}

interface CrashPlan extends CountedCalls {
  afterCall: number;
  countFile: string | undefined;
}

const { CRASH_AFTER_CALL, CRASH_COUNT_FILE, CRASH_PORTS = "", CRASH_IGNORE = "[]", CRASH_ARM = "call" } = process.env;
if (CRASH_AFTER_CALL !== undefined || CRASH_COUNT_FILE !== undefined) {
  install(
    {
      ports: new Map(CRASH_PORTS.split(",").map((pair) => [Number(pair.split("=")[0]), pair.split("=")[1] ?? "call"])),
      afterCall: Number(CRASH_AFTER_CALL ?? Infinity),
      countFile: CRASH_COUNT_FILE,
      ignore: (JSON.parse(CRASH_IGNORE) as string[]).map((source) => new RegExp(source, "is")),
    },
    CRASH_ARM,
  );
}

function install(plan: CrashPlan, armedBy: string): void {
  const calls: string[] = [];
  let armed = armedBy === "start";
  let dying = false;
  const arm = (): void => {
    armed = true;
    writeSync(2, "crash points armed\n");
  };
  globalThis.__armCrashPoints = arm;
  if (armedBy === "signal") process.on("SIGUSR2", arm);
  const report = (): void => {
    if (plan.countFile !== undefined) writeFileSync(plan.countFile, JSON.stringify({ count: calls.length, calls }));
  };
  process.on("exit", report);

  hookWrites((socket, bytes, write) => {
    // Nothing leaves between the last call and the end, also while the last call is still on its way to the kernel.
    if (dying) return;
    const call = armed ? countedCall(plan, socket, bytes()) : null;
    if (call === null) return write();
    calls.push(call);
    if (calls.length < plan.afterCall) return write();
    dying = true;
    write(() => {
      report();
      writeSync(2, `crash point ${calls.length}: ${call}\n`);
      process.kill(process.pid, "SIGKILL");
    });
  });
}
