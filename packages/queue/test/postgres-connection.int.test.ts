import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import { Client } from "pg";
import { expect, it, onTestFinished } from "vitest";
import { openConnection } from "../src/postgres/open-connection.ts";

async function ask(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

const KILL = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'toolctrl-queue' AND datname = current_database()`;
/** "Ready for query", outside a transaction. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/** Passes on what a server says of a new connection only together with what it says when that is terminated at once. */
async function startLateProxy(url: string): Promise<string> {
  const [target, { port, hostname }] = [new URL(url), new URL(url)];
  const sockets: Socket[] = [];
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    sockets.push(client, upstream);
    for (const socket of [client, upstream]) socket.on("error", () => undefined);
    client.pipe(upstream);
    let held: Buffer | null = null;
    upstream.on("data", (chunk: Buffer) => {
      if (held !== null) client.write(Buffer.concat([held, chunk]));
      else if (!chunk.includes(READY)) client.write(chunk);
      else {
        held = chunk;
        void ask(url, KILL);
      }
    });
    upstream.on("end", () => client.end());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  target.port = String((server.address() as AddressInfo).port);
  return target.href;
}

it("outlives a server that ends a connection between two statements of a transaction", async () => {
  const { url } = await createTestDatabase();
  const errors: unknown[] = [];
  const connection = openConnection({ url, schema: "bullmq_test" }, { max: 1, timeoutMs: 5000 }, (error) => errors.push(error));
  onTestFinished(() => connection.close());
  const client = await connection.pool.connect();
  onTestFinished(() => client.release(true));
  await client.query("BEGIN");
  await ask(url, KILL);
  await waitFor(() => errors.length > 0, { what: "the loss to be reported" });
  expect(errors[0]).toMatchObject({ code: "57P01" });
});

it("outlives a server that ends the connection for waiting in the moment in which it comes up", async () => {
  const { url } = await createTestDatabase();
  const errors: unknown[] = [];
  const target = { url: await startLateProxy(url), schema: "bullmq_test" };
  const connection = openConnection(target, { max: 1, timeoutMs: 5000 }, (error) => errors.push(error));
  onTestFinished(() => connection.close());
  await connection.getListenClient().catch((error: unknown) => errors.push(error));
  await waitFor(() => errors.length > 0, { what: "the loss to be reported" });
  expect(errors[0]).toMatchObject({ code: "57P01" });
});
