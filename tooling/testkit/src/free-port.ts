import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Below the ports that the kernel hands out (from 32,768 on Linux, 49,152 elsewhere): one of those can become the near end of anybody's connection
 * while the server that it was meant for is not there yet, or is away for a restart.
 */
const FIRST = 15_000;
const LAST = 32_000;

/** A loopback TCP port that was free a moment ago. Another process can take it before the caller does: be ready to try again. */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return false;
    throw error;
  }
  server.close();
  await once(server, "close");
  return true;
}
