import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { track } from "./tracked.ts";

/** A message of PostgreSQL's protocol. */
export function wireMessage(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** How a pooler of PostgreSQL answers a start-up by itself: logged in, by a process id of its own, and idle. */
export const POOLER_GREETING = Buffer.concat([
  wireMessage("R", Buffer.alloc(4)),
  wireMessage("S", Buffer.from("client_encoding\0UTF8\0")),
  wireMessage("K", Buffer.from([0, 0, 0x7f, 0xff, 0, 0, 0, 1])),
  wireMessage("Z", Buffer.from("I")),
]);

/**
 * The URL of a pooler that takes logins and answers no query: paused, or with a server behind it that hangs. With `cuts` it ends a connection
 * at its first query instead.
 */
export async function startMutePooler({ cuts = false }: { cuts?: boolean } = {}): Promise<string> {
  const clients = new Set<Socket>();
  const server = createServer((client) => {
    clients.add(client);
    client.on("error", () => undefined);
    client.once("data", () => {
      client.write(POOLER_GREETING);
      client.on("data", () => void (cuts && client.destroy()));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  track(`the pooler on port ${port}`, async () => {
    for (const client of clients) client.destroy();
    server.close();
    await once(server, "close");
  });
  return `postgres://nobody:secret@127.0.0.1:${port}/x`;
}
