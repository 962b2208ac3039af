import { readFileSync } from "node:fs";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/**
 * Test files that keep a core busy, so many at once. A run has a worker more than that: files that say on their first line that they mostly
 * wait (for a lock, an outage, a lease) run beside them. With as many busy files as workers, processes of one starved those of another.
 */
const BUSY_FILES = 2;
const MOSTLY_WAITS = "// Mostly waits";

export interface WorkSlots {
  readonly port: number;
  close(): Promise<void>;
}

/** Gives slots to the run's workers, first come first served. A slot is a connection: it comes back however its worker ends. */
export async function startWorkSlots(slots = BUSY_FILES): Promise<WorkSlots> {
  const waiting: Socket[] = [];
  const holding = new Set<Socket>();
  const grant = (): void => {
    for (let next = waiting[0]; next !== undefined && holding.size < slots; next = waiting[0]) {
      waiting.shift();
      holding.add(next);
      next.write("go");
    }
  };
  const server = createServer((socket) => {
    socket
      .on("error", () => undefined)
      .on("close", () => {
        holding.delete(socket);
        if (waiting.includes(socket)) waiting.splice(waiting.indexOf(socket), 1);
        grant();
      });
    // A socket that is not read does not notice its end.
    socket.resume();
    waiting.push(socket);
    grant();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of [...holding, ...waiting]) socket.destroy();
      await closed;
    },
  };
}

/** Waits for a slot of the run, which this process then holds to its end; a file that mostly waits needs none, nor does one outside of a run. */
export async function takeWorkSlot(testFile: string): Promise<void> {
  const port = process.env.TESTKIT_SLOTS_PORT;
  if (port === undefined || readFileSync(testFile, "utf8").startsWith(MOSTLY_WAITS)) return;
  const socket = connect(Number(port), "127.0.0.1");
  await once(socket, "data");
  socket.on("error", () => undefined).unref();
}
