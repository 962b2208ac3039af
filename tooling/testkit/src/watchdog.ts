import { spawn } from "node:child_process";
import { once } from "node:events";

/** A small process that outlives this one: at our end, however it comes, it ends what it guards and removes a directory. */
export interface Watchdog {
  /** From now on the process with this id is ended with us. Negative: the process group. 0: nothing is. */
  guard(pid: number): void;
  /** Ends the watchdog, which ends what it still guards and removes its directory first. */
  close(): Promise<void>;
}

// Reads process ids, one a line, from a pipe whose other end only we hold. The pipe ends when we do, also by SIGKILL.
// $1 is the signal, $2 the directory to remove or "". It waits up to 5 s for the process before it insists.
const SCRIPT = `
trap '' INT TERM HUP
pid=0
while read -r line; do pid=$line; done
if [ "$pid" != 0 ] && kill -s "$1" -- "$pid" 2>/dev/null && [ "$1" != KILL ]; then
  tries=0
  while kill -s 0 -- "$pid" 2>/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -gt 100 ] && kill -s KILL -- "$pid" 2>/dev/null && break
    sleep 0.05
  done
fi
if [ -n "$2" ]; then rm -rf -- "$2"; fi
`;

/**
 * Starts a watchdog. `signal` ends the guarded process; `removeDir` is deleted afterwards.
 * It runs in a session of its own, so that Ctrl-C in a terminal does not end it first.
 */
export function startWatchdog(options: { signal: "INT" | "QUIT" | "TERM" | "KILL"; removeDir?: string }): Watchdog {
  const child = spawn("/bin/sh", ["-c", SCRIPT, "watchdog", options.signal, options.removeDir ?? ""], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
    cwd: "/",
  });
  const ended = once(child, "exit");
  // A watchdog that somebody ended leaves a broken pipe; the guarded process is then ended by its owner alone.
  child.stdin.on("error", () => undefined);
  child.unref();
  return {
    guard: (pid) => void child.stdin.write(`${pid}\n`),
    async close() {
      child.ref();
      child.stdin.end();
      await ended;
    },
  };
}
