import { randomBytes } from "node:crypto";
import { createDatabase, type Database } from "@toolctrl/db/client";
import { migrate } from "@toolctrl/db/migrate";
import { ROUTES } from "@toolctrl/event-router/router";
import { spawnNode, type ChildHandle } from "@toolctrl/testkit/process";
import { startRedis, type RedisServer } from "@toolctrl/testkit/redis-server";
import { startSmtpPeer, type SmtpPeer } from "@toolctrl/testkit/smtp";
import { createEmptyDatabase } from "@toolctrl/testkit/template-db";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { cli } from "./cli.ts";

const MAIN = new URL("../src/main.ts", import.meta.url);
const workerMain = (app: string): URL => new URL(`../../${app}/src/main.ts`, import.meta.url);

interface Probed {
  readonly passed: boolean;
  readonly routes: ReadonlyArray<{
    readonly route: string;
    readonly passed: boolean;
    readonly handOffMs: number | null;
    readonly receipts: ReadonlyArray<{ readonly consumer: string; readonly ms: number }>;
    readonly missing: readonly string[];
    readonly why: string | null;
  }>;
}

let database: Database;
let redis: RedisServer;
let smtp: SmtpPeer;
let env: Record<string, string>;
let mailWorker: ChildHandle;

/** A good installation: migrated, in UTC, on a Redis that keeps a file, with both workers of this version. */
beforeAll(async () => {
  const { url, name } = await createEmptyDatabase();
  [redis, smtp] = await Promise.all([startRedis({ args: ["--appendonly", "yes"] }), startSmtpPeer()]);
  await migrate({ url });
  database = await createDatabase({ url, poolMax: 3, app: "test", wakeup: false });
  await database.pool.query(`ALTER DATABASE "${name}" SET timezone = 'UTC'`);
  env = { NODE_ENV: "test", DATABASE_URL: url, QUEUE_BACKEND: "redis", REDIS_URL: redis.url, QUEUE_PREFIX: "{installation}" };
  const drains = { ...env, OUTBOX_DISPATCHER_ENABLED: "true", OUTBOX_DISPATCH_INTERVAL_MS: "50" };
  const mails = {
    ...env,
    SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
    MAIL_FROM: "noreply@toolctrl.test",
    WEBHOOK_SECRETS_KEY: randomBytes(32).toString("base64"),
  };
  const general = spawnNode(workerMain("worker-general"), { env: drains });
  mailWorker = spawnNode(workerMain("worker-mail"), { env: mails });
  await Promise.all([general, mailWorker].map((worker) => worker.waitForLine(/health server listens/)));
});

afterAll(async () => {
  await Promise.all([database.close(), redis.close(), smtp.close()]);
});

async function countRows(sql: string): Promise<number> {
  return (await database.pool.query(sql)).rowCount ?? 0;
}

test("doctor finds nothing on a good installation: one page, exit code 0", async () => {
  const [human, json] = await Promise.all([cli(["doctor"], env), cli(["doctor", "--json"], env)]);
  expect([human.code, human.stdout]).toEqual([
    0,
    expect.stringMatching(/^environment +ok +valid[^]+^receipts +ok .+\n\nAll is well: 21 checks\.\n$/m),
  ]);
  expect(human.stdout).not.toContain("fix:");
  expect([json.code, json.json()]).toMatchObject([0, { healthy: true }]);
});

test("a Redis that tells nobody how it is set up is unknown, which fails nothing", async () => {
  const silent = await startRedis({ args: ["--user", "default", "on", "nopass", "~*", "&*", "+@all", "-config", "-info"] });
  onTestFinished(() => silent.close());
  const { code, stdout } = await cli(["doctor"], { ...env, REDIS_URL: silent.url });
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/^persistence +unknown .+NOPERM.+\n +fix: .+[^]+\n\n4 unknown, of 21 checks\.\n$/m),
  ]);
});

test("probe goes the whole way of every route and reaches nobody, while tail shows each change", async () => {
  const tail = spawnNode(MAIN, { args: ["outbox", "tail", "--json", "--tenant", "toolctrl-probe", "--from", "1m"], env });
  const result = await cli(["outbox", "probe", "--json"], env);
  const { passed, routes } = result.json() as unknown as Probed;
  expect([result.code, passed, routes.filter((each) => !each.passed)]).toEqual([0, true, []]);
  expect(
    routes.map(({ route, receipts }) => [
      route,
      receipts
        .map(({ consumer }) => consumer)
        .filter((name) => name !== "field-sets")
        .sort(),
    ]),
  ).toEqual(ROUTES.map(({ prefix, consumers }) => [prefix, [...consumers].sort()]));
  for (const { handOffMs, receipts } of routes)
    expect([handOffMs, ...receipts.map(({ ms }) => ms)].every((ms) => ms !== null && ms > 0)).toBe(true);

  await tail.waitForLine(/"status":"DONE".+"eventType":"mail\.outbox\.probe"/);
  tail.kill("SIGINT");
  expect(await tail.waitForExit()).toEqual({ code: 0, signal: null });
  const changes = tail.lines().map((line) => JSON.parse(line) as Record<"id" | "at" | "tenantId", string>);
  expect(new Set(changes.map(({ tenantId }) => tenantId))).toEqual(new Set(["toolctrl-probe"]));
  expect(new Set(changes.map(({ id, at }) => `${id} ${at}`)).size).toBe(changes.length);

  expect(smtp.mails).toEqual([]);
  for (const table of [
    "EmailMessage",
    "OutboxIntent",
    "Notification",
    "AuditEntry",
    "SearchDocument",
    "RagDocument",
    "AiCostEntry",
    "Lead",
    "Row",
  ])
    expect([table, await countRows(`SELECT 1 FROM "${table}"`)]).toEqual([table, 0]);
});

test("with a worker gone, probe names what did not come within its time, and doctor who is missing", async () => {
  mailWorker.kill("SIGTERM");
  await mailWorker.waitForExit();
  const args = ["outbox", "probe", "--timeout", "1s", "--route", "mail."];
  const [result, human, doctor] = await Promise.all([cli([...args, "--json"], env), cli(args, env), cli(["doctor"], env)]);
  const mail = { route: "mail.", passed: false, missing: ["mail-render", "email-send"], why: expect.any(String), next: expect.any(String) };
  expect([result.code, result.json()]).toMatchObject([1, { passed: false, routes: [mail] }]);
  expect(human.code).toBe(1);
  expect(human.stdout).toMatch(/no receipt of mail-render, email-send[^]+\n\n1 of 1 probe did not come through: mail\.\n$/);
  expect(doctor.code).toBe(1);
  expect(doctor.stdout).toMatch(/^consumers +fail +.+ mail-render, .+email-send.+\n +fix: start worker-general and worker-mail/m);
});
