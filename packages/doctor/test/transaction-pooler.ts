// A pooler in transaction mode in front of a real server, as small as that can be: each client is lent a backend from the first message of a
// transaction to the server's word that it is idle again. It answers start-ups itself and drops their options, as poolers do.
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { POOLER_GREETING, wireMessage } from "@toolctrl/testkit/mute-pooler";
import pg from "pg";
import { onTestFinished } from "vitest";

interface Backend {
  readonly client: pg.Client;
  readonly stream: Socket;
}

/** The URL of a pooler in front of a database, for as long as the test lasts; in statement mode it ends a connection that begins a transaction. */
export async function startTransactionPooler(url: string, { statementMode = false }: { statementMode?: boolean } = {}): Promise<string> {
  const free: Backend[] = [];
  const opened: Backend[] = [];
  const clients = new Set<Socket>();
  const lend = async (): Promise<Backend> => {
    const backend = free.pop() ?? (await openBackend(url));
    if (!opened.includes(backend)) opened.push(backend);
    return backend;
  };
  const server = createServer((client) => {
    clients.add(client);
    client.on("error", () => undefined);
    // A client that hangs up, at the end of a test for example, ends its iteration with an error.
    serve(client, statementMode, lend, (backend) => free.push(backend)).catch(() => client.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    for (const client of clients) client.destroy();
    for (const { stream } of opened) stream.destroy();
    server.close();
    await once(server, "close");
  });
  const pooled = new URL(url);
  pooled.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return pooled.href;
}

/** A session that is logged in; from then on its bytes are ours. */
async function openBackend(url: string): Promise<Backend> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  stream.removeAllListeners("data");
  return { client, stream };
}

async function serve(
  client: Socket,
  statementMode: boolean,
  lend: () => Promise<Backend>,
  giveBack: (backend: Backend) => void,
): Promise<void> {
  await once(client, "data"); // the start-up, with its options
  client.write(POOLER_GREETING);
  let backend: Backend | null = null;
  for await (const chunk of client as AsyncIterable<Buffer>) {
    if (chunk[0] === "X".charCodeAt(0)) break;
    if (statementMode && /^Q.{4}BEGIN/s.test(chunk.toString("latin1"))) {
      client.write(NO_TRANSACTIONS);
      break;
    }
    if (backend === null) {
      const lent = await lend();
      backend = lent;
      lent.stream.on(
        "data",
        untilIdle(client, () => {
          lent.stream.removeAllListeners("data");
          backend = null;
          giveBack(lent);
        }),
      );
    }
    backend.stream.write(chunk);
  }
  client.end();
}

/** Passes the server's messages on; the one that says that the session is idle, outside of a transaction, ends the loan. */
function untilIdle(client: Socket, onIdle: () => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    let idle = false;
    while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
      const end = 1 + rest.readInt32BE(1);
      idle = rest[0] === "Z".charCodeAt(0) && rest[5] === "I".charCodeAt(0);
      rest = rest.subarray(end);
    }
    if (idle) onIdle();
    client.write(chunk);
  };
}

/** What PgBouncer says. */
const NO_TRANSACTIONS = wireMessage("E", Buffer.from("SFATAL\0C08P01\0Mtransaction blocks not allowed in statement pooling mode\0\0"));
