/**
 * A vitest setup file: a test file begins when there is a work slot for it; at its end what it left open is closed, and connections that it
 * left open fail it.
 */
import { afterAll, expect } from "vitest";
import { watchSockets } from "./open-sockets.ts";
import { closeTracked } from "./tracked.ts";
import { waitFor } from "./wait.ts";
import { takeWorkSlot } from "./work-slots.ts";

const GRACE_MS = 2000;

await takeWorkSlot(expect.getState().testPath ?? "");

const openSockets = watchSockets();

// Hooks run in reverse order: this one comes after all of the test file's own.
afterAll(async () => {
  const left = await leftOpen();
  await closeTracked();
  if (left.length === 0) return;
  throw new Error(`expected the test file to close its connections, got ${left.length} open:\n${left.join("\n")}`);
});

// A socket whose owner has been closed may need a moment to be gone.
async function leftOpen(): Promise<string[]> {
  const ports = new Set([process.env.TESTKIT_POSTGRES_URL, process.env.TESTKIT_REDIS_URL].map(portOf));
  const relevant = (): string[] => openSockets().flatMap(({ port, from }) => (ports.has(port) ? [`to port ${port}, opened ${from}`] : []));
  await waitFor(() => relevant().length === 0, { timeoutMs: GRACE_MS }).catch(() => undefined);
  return relevant();
}

function portOf(url: string | undefined): number {
  return url === undefined ? -1 : Number(new URL(url).port);
}
