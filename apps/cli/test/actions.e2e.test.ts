import { randomUUID } from "node:crypto";
import { createDatabase, type Database } from "@toolctrl/db/client";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { cli as runCli, type CliResult } from "./cli.ts";

let url: string;
let database: Database;
const cli = (...args: string[]): Promise<CliResult> => runCli(args, { DATABASE_URL: url });

beforeAll(async () => {
  ({ url } = await createTestDatabase());
  database = await createDatabase({ url, poolMax: 5, app: "cli-test", wakeup: false });
});

afterAll(() => database.close());

beforeEach(async () => {
  await database.pool.query(`TRUNCATE "OutboxEvent", "OutboxReceipt", "OutboxAction"`);
});

type Status = "PENDING" | "PROCESSING" | "DONE" | "FAILED" | "CANCELLED";

async function seed(status: Status, options: { count?: number; age?: string; type?: string; tenantId?: string } = {}): Promise<string[]> {
  const ids = Array.from({ length: options.count ?? 1 }, () => randomUUID());
  await database.pool.query(
    `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "status", "attempts", "retries", "scheduledAt", "createdAt", "updatedAt",
       "processedAt", "lockedUntil", "lockToken", "claimMode", "blocksLine", "lastErrorCode", "lastError")
     SELECT id, $3, $4, '{"subscriptionId":"s1"}', $2::"OutboxStatus", 7, 6, t, t, t, CASE WHEN $2 = 'DONE' THEN t END,
       CASE WHEN $2 = 'PROCESSING' THEN clock_timestamp() + interval '5 minutes' END, CASE WHEN $2 = 'PROCESSING' THEN gen_random_uuid() END,
       CASE WHEN $2 = 'PROCESSING' THEN 'batch' END, $2 IN ('PENDING', 'PROCESSING'),
       CASE WHEN $2 = 'FAILED' THEN 'QUEUE.REJECTED' END, CASE WHEN $2 = 'FAILED' THEN 'refused' END
     FROM unnest($1::uuid[]) AS id, (SELECT clock_timestamp() - $5::interval AS t) AS times`,
    [ids, status, options.tenantId ?? "acme", options.type ?? "billing.invoice.paid", options.age ?? "1 minute"],
  );
  return ids;
}

async function receipt(eventId: string, consumer: string): Promise<void> {
  await database.pool.query(`INSERT INTO "OutboxReceipt" ("eventId", "consumer", "tenantId", "outcome") VALUES ($1, $2, 'acme', 'done')`, [
    eventId,
    consumer,
  ]);
}

async function events(): Promise<
  Array<{ id: string; status: string; generation: number; retries: number; attempts: number; dueIn: number }>
> {
  const { rows } = await database.pool.query<{
    id: string;
    status: string;
    generation: number;
    retries: number;
    attempts: number;
    dueIn: number;
  }>(
    `SELECT "id", "status"::text AS "status", "generation", "retries", "attempts", extract(epoch FROM "scheduledAt" - clock_timestamp())::float8 AS "dueIn" FROM "OutboxEvent"`,
  );
  return rows;
}

async function actionRows(): Promise<
  Array<{ actor: string; action: string; reason: string | null; affected: number; params: Record<string, unknown> }>
> {
  const { rows } = await database.pool.query<{
    actor: string;
    action: string;
    reason: string | null;
    affected: number;
    params: Record<string, unknown>;
  }>(`SELECT * FROM "OutboxAction" ORDER BY "createdAt"`);
  return rows;
}

describe("requeue of one event", () => {
  test("by two operators at once is done by one; the other is refused and told the state", async () => {
    const [id = ""] = await seed("FAILED");
    const results = await Promise.all([
      cli("outbox", "requeue", id, "--json", "--actor", "ann"),
      cli("outbox", "requeue", id, "--json", "--actor", "bob"),
    ]);
    expect(new Set(results.map((result) => result.code))).toEqual(new Set([0, 4]));
    const loser = results.find((result) => result.code === 4);
    expect(loser?.json()).toMatchObject({ error: { code: "DB.EVENT_STATE", message: expect.stringContaining("got PENDING") } });
    expect(await events()).toMatchObject([{ status: "PENDING", generation: 1, retries: 0, attempts: 7 }]);
    expect((await actionRows()).map((row) => row.affected).toSorted((a, b) => a - b)).toEqual([0, 1]);
  });

  test("that is PROCESSING is refused with exit code 4 and changes nothing", async () => {
    const [id = ""] = await seed("PROCESSING");
    const before = await events();
    const result = await cli("outbox", "requeue", id);
    expect(result.code).toBe(4);
    expect(result.stderr).toContain("error DB.EVENT_STATE");
    expect(result.stderr).toContain("next: ");
    expect((await events()).map(({ dueIn: _dueIn, ...row }) => row)).toEqual(before.map(({ dueIn: _dueIn, ...row }) => row));
  });

  test.each([randomUUID(), "nope"])("with the unknown id %s ends with exit code 3 and DB.EVENT_NOT_FOUND", async (id) => {
    const human = await cli("outbox", "requeue", id);
    expect([human.code, human.stdout]).toEqual([3, ""]);
    expect(human.stderr).toContain("DB.EVENT_NOT_FOUND");
    const json = await cli("outbox", "requeue", id, "--json");
    expect(json.code).toBe(3);
    expect(json.json()).toMatchObject({ error: { code: "DB.EVENT_NOT_FOUND" } });
  });

  test("keeps its history in the audit row: who, why, and the failures the row forgets", async () => {
    const [id = ""] = await seed("FAILED");
    expect((await cli("outbox", "requeue", id, "--actor", "ann", "--reason", "receiver mended")).code).toBe(0);
    expect(await actionRows()).toMatchObject([
      {
        actor: "ann",
        action: "requeue",
        reason: "receiver mended",
        affected: 1,
        params: { before: [{ id, from: "FAILED", retries: 6, lastErrorCode: "QUEUE.REJECTED" }] },
      },
    ]);
  });

  test("warns before it acts which consumers have a receipt and stay suppressed", async () => {
    const [id = ""] = await seed("DONE", { type: "mail.message.send" });
    await receipt(id, "mail-render");
    const result = await cli("outbox", "requeue", id, "--json");
    expect(result.code).toBe(0);
    expect(result.stderr).toContain(`warning: ${id} (mail.message.send): mail-render has a receipt and stays suppressed`);
    expect(result.json()).toMatchObject({
      action: "requeue",
      events: [{ outcome: "requeued", suppressed: ["mail-render"], willRun: ["email-send"] }],
    });
  });

  test("of a type without a route here says that its consumers are unknown, and not that it will fail", async () => {
    const [id = ""] = await seed("DONE", { type: "product.order.placed" });
    const result = await cli("outbox", "requeue", id, "--dry-run");
    expect([result.code, result.stdout]).toEqual([0, expect.stringMatching(/would-requeue +DONE +its consumers are unknown here/)]);
    expect(result.stderr).toContain(
      "this version has no routing rule for it: a worker of this version fails it, one that has a rule sends it",
    );
  });

  test("with --dry-run says what would happen and changes nothing", async () => {
    const [id = ""] = await seed("FAILED");
    const result = await cli("outbox", "requeue", id, "--dry-run", "--json");
    expect(result.json()).toMatchObject({ dryRun: true, events: [{ id, outcome: "would-requeue", willRun: ["notification-create"] }] });
    expect(await events()).toMatchObject([{ status: "FAILED", generation: 0 }]);
    expect(await actionRows()).toEqual([]);
  });

  test("of which some are refused ends with exit code 5 and says what became of each", async () => {
    const [failed = ""] = await seed("FAILED");
    const [pending = ""] = await seed("PENDING");
    const missing = randomUUID();
    const result = await cli("outbox", "requeue", failed, pending, missing, "--json");
    expect(result.code).toBe(5);
    expect(result.json()).toMatchObject({
      events: [
        { id: failed, outcome: "requeued" },
        { id: pending, outcome: "refused" },
        { id: missing, outcome: "not-found" },
      ],
    });
  });
});

describe("replay", () => {
  test("raises the epoch of one consumer and says that it repeats its effect", async () => {
    const [id = ""] = await seed("DONE", { type: "mail.message.send" });
    await receipt(id, "mail-render");
    await receipt(id, "email-send");
    const result = await cli("outbox", "requeue", id, "--replay", "--consumer", "email-send", "--json");
    expect(result.code).toBe(0);
    expect(result.stderr).toContain("email-send repeats its effect");
    expect(result.json()).toMatchObject({
      action: "replay",
      events: [{ effectEpoch: 1, replayConsumer: "email-send", suppressed: ["mail-render"] }],
    });
  });
});

describe("bulk requeue", () => {
  test("of a DONE time range takes the events handed off in it, in batches, spread over its jitter", async () => {
    await seed("DONE", { count: 25, age: "10 minutes" });
    await seed("DONE", { count: 3, age: "3 hours" });
    await seed("FAILED", { count: 2, age: "10 minutes" });
    const result = await cli(
      "outbox",
      "requeue",
      "--status",
      "DONE",
      "--from",
      "2h",
      "--batch-size",
      "10",
      "--jitter",
      "10m",
      "--yes",
      "--json",
      "--actor",
      "ann",
    );
    expect(result.code).toBe(0);
    expect(result.json()).toMatchObject({ matched: 25, changed: 25, refused: 0, batches: 3, more: false });
    const requeued = (await events()).filter((event) => event.status === "PENDING");
    expect(requeued).toHaveLength(25);
    expect(new Set(requeued.map((event) => event.dueIn.toFixed(3))).size).toBeGreaterThan(1);
    expect(Math.max(...requeued.map((event) => event.dueIn))).toBeLessThanOrEqual(600);
    expect((await actionRows()).map((row) => row.affected)).toEqual([10, 10, 5]);
    expect(result.stderr).toMatch(/requeued 10\/25\nrequeued 20\/25\nrequeued 25\/25\n/);
  });

  test("with --dry-run counts by type and names the receipts, and changes nothing", async () => {
    const [first = ""] = await seed("DONE", { count: 4 });
    await receipt(first, "notification-create");
    const result = await cli("outbox", "requeue", "--status", "DONE", "--type", "billing", "--dry-run", "--json");
    expect(result.code).toBe(0);
    expect(result.json()).toMatchObject({ dryRun: true, total: 4, receipts: [{ consumer: "notification-create", events: 1 }] });
    expect(result.stderr).toContain("notification-create has a receipt of 1 event and stays suppressed there");
    expect(await actionRows()).toEqual([]);
    expect((await events()).every((event) => event.status === "DONE")).toBe(true);
  });

  test("keeps to its tenant, type and limit", async () => {
    await seed("FAILED", { count: 3 });
    await seed("FAILED", { count: 3, tenantId: "globex" });
    await seed("FAILED", { count: 3, type: "billings.invoice.paid" });
    const result = await cli(
      "outbox",
      "requeue",
      "--status",
      "failed",
      "--tenant",
      "acme",
      "--type",
      "billing.",
      "--limit",
      "2",
      "--yes",
      "--json",
    );
    expect(result.json()).toMatchObject({ changed: 2, more: true });
    expect(result.code).toBe(0);
    expect((await events()).filter((event) => event.status === "PENDING")).toHaveLength(2);
  });

  test("takes nothing that came into its state after the command began, with a --to that is still to come too: its own results", async () => {
    await seed("DONE", { count: 2 });
    await seed("DONE", { age: "-1 hour" });
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    for (const to of [[], ["--to", tomorrow]]) {
      const result = await cli("outbox", "requeue", "--status", "DONE", ...to, "--dry-run", "--json");
      expect(result.json()).toMatchObject({ total: 2 });
    }
    const before = await cli("outbox", "requeue", "--status", "DONE", "--to", "1h", "--dry-run", "--json");
    expect(before.json()).toMatchObject({ total: 0 });
  });

  test("that matches nothing says so and succeeds", async () => {
    const result = await cli("outbox", "requeue", "--status", "FAILED", "--yes");
    expect([result.code, result.stdout]).toEqual([0, expect.stringContaining("Nothing matches")]);
  });
});

describe("cancel", () => {
  test("takes PENDING and FAILED events and refuses the others", async () => {
    const [pending = ""] = await seed("PENDING");
    const [failed = ""] = await seed("FAILED");
    const [done = ""] = await seed("DONE");
    const [processing = ""] = await seed("PROCESSING");
    const result = await cli("outbox", "cancel", pending, failed, done, processing, "--json");
    expect(result.code).toBe(5);
    const byId = Object.fromEntries((await events()).map((event) => [event.id, event.status]));
    expect(byId).toEqual({ [pending]: "CANCELLED", [failed]: "CANCELLED", [done]: "DONE", [processing]: "PROCESSING" });
    expect((await cli("outbox", "cancel", done)).code).toBe(4);
  });

  test("in bulk needs --yes without a terminal, and then cancels what matches", async () => {
    await seed("PENDING", { count: 5 });
    const unasked = await cli("outbox", "cancel", "--status", "PENDING", "--json");
    expect([unasked.code, unasked.json()]).toEqual([
      2,
      { error: expect.objectContaining({ code: "CLI.ARGUMENT", message: expect.stringContaining("--yes") }) },
    ]);
    const result = await cli("outbox", "cancel", "--status", "PENDING", "--yes", "--json", "--batch-size", "2");
    expect(result.json()).toMatchObject({ changed: 5, batches: 3 });
    expect((await events()).every((event) => event.status === "CANCELLED")).toBe(true);
  });
});
