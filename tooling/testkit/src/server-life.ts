import { findFreePort } from "./free-port.ts";
import type { ServerProcess } from "./server-process.ts";
import { waitFor } from "./wait.ts";

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 30_000;
const TRIES = 5;

/** Starts something on the fixed port, or on a free one: between finding that and listening on it, another process can take it. */
export async function startOnSomePort<T>(start: (port: number) => Promise<T>, fixed: number | undefined): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start(fixed ?? (await findFreePort()));
    } catch (error) {
      if (fixed !== undefined || attempt === TRIES || !/address already in use/i.test(String(error))) throw error;
    }
  }
}

/**
 * Starts a server again on the port it had. After a SIGKILL its children need a moment to notice, and the port one to become free:
 * such failures are tried again for a while.
 */
export async function startAgain(start: (port: number) => Promise<ServerProcess>, port: number): Promise<ServerProcess> {
  let fatal: unknown;
  const started = await waitFor(
    () =>
      start(port).catch((error: unknown) => {
        if (/pre-existing shared memory|already exists|address already in use/i.test(String(error))) throw error;
        fatal = error;
        return "failed" as const;
      }),
    { timeoutMs: START_TIMEOUT_MS, what: `the server on port ${port} to start again` },
  );
  if (started === "failed") throw fatal;
  return started;
}

/** Ends a server by a signal, and by SIGKILL when it has not ended in time. */
export async function endServer(server: ServerProcess, signal: NodeJS.Signals): Promise<void> {
  server.signal(signal);
  const timer = setTimeout(() => server.signal("SIGKILL"), STOP_TIMEOUT_MS);
  await server.ended;
  clearTimeout(timer);
}
