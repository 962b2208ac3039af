import { randomBytes } from "node:crypto";
import { createDatabase, type Database } from "@toolctrl/db/client";
import { publishOutboxEvent } from "@toolctrl/db/outbox";
import { startHttpPeer, type HttpPeer } from "@toolctrl/testkit/http-peer";
import { startPostgres, type PostgresServer } from "@toolctrl/testkit/postgres-server";
import { startRedis, type RedisServer } from "@toolctrl/testkit/redis-server";
import { startSmtpPeer, type SmtpPeer } from "@toolctrl/testkit/smtp";
import { fillInValues } from "../fill-in-values.ts";

export const TENANT = "acme";

/** What the image is used with: servers of its own, peers that see its effects, and a product's way to publish. */
export interface Servers extends AsyncDisposable {
  readonly postgres: PostgresServer;
  readonly redis: RedisServer;
  readonly smtp: SmtpPeer;
  readonly http: HttpPeer;
  readonly database: Database;
  /** The values of the compose file's variables. */
  readonly values: Readonly<Record<string, string>>;
  /** Of the key `PLUGIN_SECRETS_KEY`. */
  readonly pluginKey: string;
  /** Publishes an event of the tenant and returns its id. */
  publish(type: string, payload: object): Promise<string>;
}

/** Starts everything on loopback ports; disposed of, it ends everything. */
export async function startServers(): Promise<Servers> {
  await using opened = new AsyncDisposableStack();
  const keep = <T extends { close(): Promise<unknown> }>(resource: T): T => opened.adopt(resource, async (it) => void (await it.close()));
  const postgres = keep(await startPostgres());
  const redis = keep(await startRedis({ args: ["--appendonly", "yes"] }));
  const [smtp, http] = [keep(await startSmtpPeer()), keep(await startHttpPeer())];
  const database = keep(await createDatabase({ url: postgres.url, poolMax: 3, app: "image-steps", wakeup: true }));
  const pluginKey = randomBytes(32).toString("base64");
  const values = fillInValues({
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
    PLUGIN_SECRETS_KEY: pluginKey,
    OUTBOUND_HTTP_ALLOW: `127.0.0.1:${http.port}`,
  });
  const publish = async (type: string, payload: object): Promise<string> => {
    const event = await database.prisma.$transaction((tx) => publishOutboxEvent(tx, { tenantId: TENANT, type, payload: { ...payload } }));
    return event.id;
  };
  const all = opened.move();
  return { postgres, redis, smtp, http, database, values, pluginKey, publish, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
