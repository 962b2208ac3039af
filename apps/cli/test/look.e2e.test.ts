import { randomUUID } from "node:crypto";
import { createDatabase, transaction, type Database } from "@toolctrl/db/client";
import { publishOutboxEvent } from "@toolctrl/db/outbox";
import { recordDead } from "@toolctrl/db/receipts";
import { appendAuditEntry, canonicalJson } from "@toolctrl/domain/audit";
import { spawnCommand } from "@toolctrl/testkit/process";
import { createRedisNamespace } from "@toolctrl/testkit/redis-server";
import { createEmptyDatabase, createTestDatabase } from "@toolctrl/testkit/template-db";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cli as runCli, type CliResult } from "./cli.ts";

let env: Record<string, string>;
let database: Database;
const cli = (...args: string[]): Promise<CliResult> => runCli(args, env);

beforeAll(async () => {
  const { url } = await createTestDatabase();
  const redis = createRedisNamespace();
  env = { DATABASE_URL: url, REDIS_URL: redis.url, QUEUE_PREFIX: redis.prefix };
  database = await createDatabase({ url, poolMax: 5, app: "cli-test", wakeup: false });
});

afterAll(() => database.close());

function publish(type = "billing.invoice.paid", tenantId = "acme"): Promise<string> {
  return database.prisma.$transaction(async (tx) => (await publishOutboxEvent(tx, { tenantId, type, payload: { amount: 7 } })).id);
}

describe("list", () => {
  test("gives the newest events that match, aligned for people and as one document for scripts", async () => {
    const tenantId = `tenant-${randomUUID()}`;
    const older = await publish("billing.invoice.paid", tenantId);
    const newer = await publish("webhook.message.deliver", tenantId);
    const json = await cli("outbox", "list", "--tenant", tenantId, "--json");
    expect(json.json()).toMatchObject({
      events: [{ id: newer }, { id: older, status: "PENDING", eventType: "billing.invoice.paid" }],
      more: false,
    });
    expect(JSON.stringify(json.json())).not.toContain("amount");
    const human = await cli("outbox", "list", "--tenant", tenantId, "--limit", "1");
    const [head = "", row = ""] = human.stdout.split("\n");
    expect(row.indexOf("PENDING")).toBe(head.indexOf("STATUS"));
    expect(human.stdout).toContain("There are more");
    // oxlint-disable-next-line no-control-regex -- the absence of escapes is what is tested
    expect(human.stdout).not.toMatch(/\u001b/);
  });
});

test("a reader that closes the output early ends the command without an error", async () => {
  const main = new URL("../src/main.ts", import.meta.url).pathname;
  const script = `"${process.execPath}" --conditions=source "${main}" outbox list | true; echo "code \${PIPESTATUS[0]}"`;
  const child = spawnCommand("bash", ["-c", script], { env });
  await child.waitForExit();
  expect(child.stdout()).toBe("code 0\n");
  expect(child.stderr()).toBe("");
});

describe("show", () => {
  test("gives the row, its payload and its receipts", async () => {
    const id = await publish();
    expect((await cli("outbox", "show", id, "--json")).json()).toMatchObject({
      event: { id, payload: { amount: 7 }, attempts: 0 },
      receipts: [],
    });
  });

  test.each(["show", "trace"])("%s of an unknown id ends with exit code 3 and DB.EVENT_NOT_FOUND", async (command) => {
    const result = await cli("outbox", command, randomUUID(), "--json");
    expect(result.code).toBe(3);
    expect(result.json()).toMatchObject({ error: { code: "DB.EVENT_NOT_FOUND", fix: expect.stringContaining("outbox list") } });
  });
});

describe("stats", () => {
  test("counts by route and shows a queue that no live process serves", async () => {
    await publish("ai.cost.estimated", "acme");
    await database.pool.query(
      `INSERT INTO "OutboxDrainer" ("id", "app", "host", "pid", "queueBackend", "queuePrefix", "queues", "aliveUntil") VALUES
       (gen_random_uuid(), 'worker-general', 'here', 1, 'redis', $1, '{outbox.audit}', clock_timestamp() + interval '1 minute'),
       (gen_random_uuid(), 'worker-mail', 'here', 2, 'redis', $1, '{outbox.mail}', clock_timestamp() - interval '1 minute')`,
      [env["QUEUE_PREFIX"]],
    );
    const result = await cli("outbox", "stats", "--json");
    expect(result.code).toBe(0);
    const stats = result.json() as {
      queues: Array<{ queue: string; consumers: number; counts: unknown }>;
      byRoute: Array<{ route: string }>;
      backlog: { due: number };
    };
    const consumersOf = (queue: string): number | undefined => stats.queues.find((entry) => entry.queue === queue)?.consumers;
    expect([consumersOf("outbox.audit"), consumersOf("outbox.mail"), consumersOf("outbox.ai-cost")]).toEqual([1, 0, 0]);
    expect(stats.byRoute).toContainEqual(expect.objectContaining({ route: "ai.cost.", target: "outbox.ai-cost" }));
    expect(stats.backlog.due).toBeGreaterThan(0);
    const human = await cli("outbox", "stats");
    expect(human.stdout).toMatch(/outbox\.mail +no consumer: mail-render/);
    expect(human.stdout).toMatch(/outbox\.audit +1 /);
  });

  test("answers from the tables when the queue's server is away", async () => {
    const result = await runCli(["outbox", "stats", "--json"], { ...env, REDIS_URL: "redis://127.0.0.1:1" });
    expect(result.code).toBe(0);
    expect(result.json()).toMatchObject({
      queues: expect.arrayContaining([expect.objectContaining({ queue: "outbox.mail", counts: null })]),
    });
  });

  test("names the consumers that gave up and the DONE events without their receipts", async () => {
    const id = await publish("webhook.message.deliver");
    await database.pool.query(
      `UPDATE "OutboxEvent" SET "status" = 'DONE', "processedAt" = clock_timestamp(), "blocksLine" = false WHERE "id" = $1`,
      [id],
    );
    await recordDead(database.pool, {
      eventId: id,
      tenantId: "acme",
      consumer: "webhook-deliver",
      effectEpoch: 0,
      generation: 0,
      error: "410 gone",
    });
    expect((await cli("outbox", "stats", "--json")).json()).toMatchObject({
      dead: [{ consumer: "webhook-deliver", jobs: 1, newestDetail: expect.stringContaining("410 gone") }],
      held: [{ consumer: "webhook-deliver", events: 1, dead: 1 }],
    });
  });
});

describe("db", () => {
  test("migrate brings an empty database up to date, and again changes nothing; status says so by its exit code", async () => {
    const empty = await createEmptyDatabase();
    const own = { DATABASE_URL: empty.url };
    expect((await runCli(["db", "status", "--json"], own)).code).toBe(1);
    const first = await runCli(["db", "migrate", "--json"], own);
    expect(first.code).toBe(0);
    expect((first.json()["applied"] as string[]).length).toBeGreaterThan(0);
    expect((await runCli(["db", "migrate", "--json"], own)).json()).toMatchObject({ applied: [] });
    const status = await runCli(["db", "status", "--json"], own);
    expect([status.code, status.json()]).toEqual([0, expect.objectContaining({ upToDate: true, pending: [] })]);
  });

  test("that does not answer ends with exit code 1", async () => {
    const result = await runCli(["outbox", "list", "--json"], { DATABASE_URL: "postgres://nobody:secret@127.0.0.1:1/x" });
    expect(result.code).toBe(1);
    expect(result.stdout + result.stderr).not.toContain("secret");
    expect(result.json()).toMatchObject({
      error: { code: "DB.UNREACHABLE", message: expect.stringContaining("ECONNREFUSED"), fix: expect.stringContaining("DATABASE_URL") },
    });
  });

  test("that takes no writes is told from one that does not answer", async () => {
    const id = await publish();
    const readOnly = new URL(env["DATABASE_URL"] ?? "");
    readOnly.searchParams.set("options", "-c default_transaction_read_only=on");
    const result = await runCli(["outbox", "cancel", id, "--json"], { DATABASE_URL: readOnly.href });
    expect([result.code, result.json()]).toMatchObject([
      1,
      { error: { code: "DB.READ_ONLY", message: expect.stringContaining("read-only") } },
    ]);
  });

  test("that has no such name or does not take the login is told from one that is not migrated", async () => {
    const { url } = await createEmptyDatabase();
    const [absent, stranger, empty] = [new URL(url), new URL(url), { DATABASE_URL: url }];
    absent.pathname = "/not-there";
    stranger.username = "nobody";
    for (const { href } of [absent, stranger])
      expect((await runCli(["db", "status", "--json"], { DATABASE_URL: href })).json()).toMatchObject({
        error: { code: "DB.UNREACHABLE" },
      });
    for (const args of [
      ["outbox", "list"],
      ["outbox", "reconcile"],
      ["leads", "dedupe"],
      ["workflow", "list", "--tenant", "acme"],
    ]) {
      const result = await runCli(args, empty);
      expect([args, result.code, result.stdout]).toEqual([args, 1, ""]);
      expect(result.stderr).toMatch(
        /^error DB\.NOT_MIGRATED: expected the tables of this version, got: .* does not exist\nnext: .*toolctrl-cli db migrate.*\n$/m,
      );
    }
  });

  test("without a DATABASE_URL ends with exit code 2 and names it", async () => {
    const result = await runCli(["outbox", "list", "--json"], {});
    expect(result.code).toBe(2);
    expect(result.json()).toMatchObject({ error: { code: "ENV.INVALID", message: expect.stringContaining("DATABASE_URL") } });
  });
});

describe("audit verify", () => {
  test("tells a sound chain from a broken one by its exit code, and names the row", async () => {
    const tenantId = `tenant-${randomUUID()}`;
    for (const action of ["first", "second", "third"]) {
      await transaction(database.pool, (tx) =>
        appendAuditEntry(tx, { tenantId, eventId: randomUUID(), effectEpoch: 0, entryJson: canonicalJson({ action }) }),
      );
    }
    const sound = await cli("audit", "verify", tenantId, "--json");
    expect([sound.code, sound.json()]).toEqual([0, expect.objectContaining({ ok: true, verified: 3 })]);
    const misspelt = await cli("audit", "verify", `${tenantId}x`, "--json");
    expect([misspelt.code, misspelt.json()]).toMatchObject([3, { error: { code: "AUDIT.NO_CHAIN", facts: { tenantId: `${tenantId}x` } } }]);
    await database.pool.query(`ALTER TABLE "AuditEntry" DISABLE TRIGGER "AuditEntry_append_only"`);
    await database.pool.query(`UPDATE "AuditEntry" SET "entry" = '{"action":"forged"}' WHERE "tenantId" = $1 AND "sequence" = 2`, [
      tenantId,
    ]);
    const broken = await cli("audit", "verify", tenantId, "--json");
    expect([broken.code, broken.json()]).toMatchObject([
      1,
      { error: { code: "AUDIT.CHAIN_BROKEN", facts: { sequence: "2", verified: 1 } } },
    ]);
  });
});

test("--help ends with 0 and lists the exit codes; no command, with 2", async () => {
  const help = await cli("outbox", "requeue", "--help");
  expect([help.code, help.stdout]).toEqual([0, expect.stringContaining("5  partly done")]);
  expect((await cli("outbox")).code).toBe(2);
});
