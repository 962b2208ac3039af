import { randomBytes } from "node:crypto";
import { startPostgres } from "@toolctrl/testkit/postgres-server";
import { startTcpProxy } from "@toolctrl/testkit/tcp-proxy";
import { createEmptyDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import { createPostgresBackend, withBackend } from "bullmq";
import { Client } from "pg";
import type { QueueBackendOptions } from "../src/backend.ts";
import { postgresSchemaOf } from "../src/names.ts";
import type { OwnServer, QueueHarness } from "../src/testing.ts";
import { createTestLog } from "./support-log.ts";

const BASE = { kind: "postgres", attempts: 3, backoffMs: 20 } as const;

export function postgresHarness(): QueueHarness {
  const { log, lines } = createTestLog();
  let database: Promise<string> | undefined;
  return {
    kind: "postgres",
    waitFor,
    logged: () => lines,
    async namespace() {
      // One database for the file, a schema for each test.
      database ??= createEmptyDatabase().then(({ url }) => url);
      return { ...BASE, databaseUrl: await database, prefix: `{t_${randomBytes(6).toString("hex")}}`, log };
    },
    ownServer: () => ownPostgres({ ...BASE, prefix: "{own}", log }),
    raw: (options, job) =>
      withQueue(options, job.queue, async (queue) => {
        const found = await queue.getJob(job.id);
        if (found === undefined) throw new Error(`expected job ${job.id}, got none`);
        const promote = (): Promise<void> => withQueue(options, job.queue, async (again) => (await again.getJob(job.id))?.promote());
        return { data: found.data, returnvalue: found.returnvalue, delay: found.delay, promote };
      }),
    // jsonb cannot hold U+0000; BullMQ does not look.
    poisonJob: async (_options, id) => ({ queue: "outbox.audit", id, name: "test.thing.happened", data: { text: "\u0000" } }),
    async stealLock(options, job) {
      const sql = `UPDATE ${postgresSchemaOf(options.prefix)}.job SET lock_token = 'thief', locked_until_ms = 1 WHERE queue = $1 AND id = $2`;
      await withClient(options.databaseUrl, (client) => client.query(sql, [job.queue, job.id]));
    },
  };
}

type RawQueue = InstanceType<ReturnType<typeof withBackend<never, { connectionString: string; schema: string }>>["Queue"]>;

async function withQueue<T>(options: QueueBackendOptions, name: string, run: (queue: RawQueue) => Promise<T>): Promise<T> {
  const { Queue } = withBackend(createPostgresBackend);
  const queue = new Queue(name, { connection: { connectionString: options.databaseUrl ?? "", schema: postgresSchemaOf(options.prefix) } });
  queue.on("error", () => undefined);
  try {
    return await run(queue as unknown as RawQueue);
  } finally {
    await queue.close();
  }
}

export async function withClient<T>(url: string | undefined, run: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url ?? "" });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await run(client);
  } finally {
    await client.end();
  }
}

async function ownPostgres(options: Omit<QueueBackendOptions, "databaseUrl">): Promise<OwnServer> {
  const server = await startPostgres();
  await server.stop();
  const proxy = await startTcpProxy({ toPort: server.port });
  const url = new URL(server.url);
  url.port = String(proxy.port);
  return {
    options: { ...options, databaseUrl: url.href },
    start: () => server.restart(),
    stop: () => server.stop(),
    cut: () => proxy.cut(),
    silence: () => proxy.pause(),
    resume: () => proxy.resume(),
    async setReadOnly(readOnly) {
      await withClient(server.url, async (client) => {
        await client.query("SET default_transaction_read_only = off");
        await client.query(`ALTER SYSTEM SET default_transaction_read_only = ${readOnly ? "on" : "off"}`);
        await client.query("SELECT pg_reload_conf()");
      });
      await waitFor(() =>
        withClient(server.url, async (client) => {
          const { rows } = await client.query<{ value: string }>("SELECT current_setting('default_transaction_read_only') AS value");
          return rows[0]?.value === (readOnly ? "on" : "off");
        }),
      );
    },
    async close() {
      await proxy.close();
      await server.close();
    },
  };
}
