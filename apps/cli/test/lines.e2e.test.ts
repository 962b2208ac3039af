import { randomUUID } from "node:crypto";
import { createDatabase, type Database } from "@toolctrl/db/client";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CLI_WITH_PARTS, cli as runCli, type CliResult } from "./cli.ts";

let url: string;
let database: Database;
const cli = (...args: string[]): Promise<CliResult> => runCli(args, { DATABASE_URL: url });

beforeAll(async () => {
  ({ url } = await createTestDatabase());
  database = await createDatabase({ url, poolMax: 3, app: "cli-test", wakeup: false });
});

afterAll(() => database.close());

beforeEach(async () => {
  await database.pool.query(`TRUNCATE "OutboxEvent", "OutboxAction"`);
});

/** A failed event of a lead with one that waits behind it. */
async function seedDeadHead(recordId: string, parks: boolean): Promise<string> {
  const head = randomUUID();
  await database.pool.query(
    `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "status", "blocksLine", "lastErrorCode")
     VALUES ($1, 'acme', 'record.lead.updated', jsonb_build_object('object', 'Lead', 'recordId', $2::text), 'FAILED', $3, 'HTTP.NETWORK'),
            (gen_random_uuid(), 'acme', 'record.lead.updated', jsonb_build_object('object', 'Lead', 'recordId', $2::text), 'PENDING', true, NULL)`,
    [head, recordId, parks],
  );
  return head;
}

describe("blocked", () => {
  test("lists a parked line with its head and depth, for scripts and for people", async () => {
    const head = await seedDeadHead("1", true);
    await seedDeadHead("2", false);
    const json = await cli("outbox", "blocked", "--json");
    expect([json.code, json.json()]).toEqual([
      0,
      {
        mode: "batch",
        keyed: true,
        partial: false,
        lines: [
          expect.objectContaining({
            recordKey: "Lead/1",
            cause: "parked",
            headId: head,
            depth: 1,
            until: null,
            headErrorCode: "HTTP.NETWORK",
          }),
        ],
      },
    ]);
    const human = await cli("outbox", "blocked", "--tenant", "acme");
    expect(human.stdout).toMatch(new RegExp(`parked +Lead/1 +acme +${head}`));
    expect(human.stdout).toContain("The batch dispatcher runs");
    expect((await cli("outbox", "blocked", "--tenant", "globex")).stdout).toContain("No event waits");
  });
});

describe("skip", () => {
  test("lets the line go on, and a second time is refused with exit code 4", async () => {
    const head = await seedDeadHead("1", true);
    expect((await cli("outbox", "skip", head, "--dry-run", "--json")).json()).toMatchObject({
      events: [{ id: head, outcome: "would-skip" }],
    });
    const first = await cli("outbox", "skip", head, "--actor", "ann", "--reason", "never", "--json");
    expect([first.code, first.json()]).toEqual([
      0,
      expect.objectContaining({ action: "skip", events: [expect.objectContaining({ outcome: "skipped" })] }),
    ]);
    expect((await cli("outbox", "blocked", "--json")).json()).toMatchObject({ lines: [] });
    const second = await cli("outbox", "skip", head, "--json");
    expect([second.code, second.json()]).toEqual([4, { error: expect.objectContaining({ code: "DB.EVENT_STATE" }) }]);
    const { rows } = await database.pool.query(`SELECT "actor", "reason", "affected" FROM "OutboxAction" ORDER BY "createdAt"`);
    expect(rows).toEqual([
      { actor: "ann", reason: "never", affected: 1 },
      { actor: expect.any(String), reason: null, affected: 0 },
    ]);
  });

  test("of an unknown event ends with exit code 3, and of one that holds nothing with 4", async () => {
    const dead = await seedDeadHead("2", false);
    expect((await cli("outbox", "skip", randomUUID())).code).toBe(3);
    expect((await cli("outbox", "skip", dead)).code).toBe(4);
    expect((await cli("outbox", "skip", "--json")).code).toBe(2);
  });
});

describe("requeue", () => {
  test("of a dead event whose line went on warns that it can follow younger ones; of a parked one it does not", async () => {
    const parked = await seedDeadHead("1", true);
    const dead = await seedDeadHead("2", false);
    const result = await cli("outbox", "requeue", parked, dead, "--json");
    expect(result.code).toBe(0);
    expect(result.stderr).toContain(`warning: ${dead} (record.lead.updated): it can follow younger events of Lead/2`);
    expect(result.stderr).not.toContain(`warning: ${parked} (record.lead.updated): it can follow`);
  });

  test("in bulk counts the events that can follow younger ones", async () => {
    await seedDeadHead("1", true);
    await seedDeadHead("2", false);
    const result = await cli("outbox", "requeue", "--status", "FAILED", "--yes", "--json");
    expect([result.code, result.stderr]).toEqual([0, expect.stringContaining("warning: 1 event can follow younger events")]);
  });
});

test("stats names what keeps pull workers off, process by process, and counts blocked lines", async () => {
  await seedDeadHead("1", true);
  await database.pool.query(
    `INSERT INTO "OutboxDrainer" ("id", "app", "host", "pid", "vote", "drains", "queueBackend", "queuePrefix", "aliveUntil", "blockers")
     VALUES (gen_random_uuid(), 'worker-general', 'here', 1, 'true', true, 'postgres', '{toolctrl}', clock_timestamp() + interval '1 minute', '{"a condition is red"}'),
            (gen_random_uuid(), 'worker-general', 'here', 2, 'false', true, 'postgres', '{toolctrl}', clock_timestamp() + interval '1 minute', '{}')`,
  );
  const reasons = ["OUTBOX_PULL_WORKER=false (worker-general here:2)", "a condition is red (worker-general here:1)"];
  expect((await cli("outbox", "stats", "--json")).json()).toMatchObject({
    mode: { mode: "batch", desired: "batch", whyNotPull: reasons, openClaims: 0 },
    blockedLines: { parked: 1, held: 0, backoff: 0, "in-flight": 0 },
  });
  const human = await cli("outbox", "stats");
  for (const reason of reasons) expect(human.stdout).toContain(`not pull: ${reason}`);
  expect(human.stdout).toContain("1 line blocked: 1 parked");
});

test("under pull workers stats, trace and blocked tell what a held route holds, since when and why", async () => {
  await database.pool.query(`UPDATE "OutboxMode" SET "mode" = 'pull', "desired" = 'pull'`);
  const [held, behind] = [randomUUID(), randomUUID()];
  await database.pool.query(
    `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "scheduledAt", "lastErrorCode", "lastError")
     SELECT x."id", 'acme', x."type", '{"object": "Lead", "recordId": "1"}', clock_timestamp() + x."off"::interval, x."code", x."code"
       FROM (VALUES ($1::uuid, 'audit.entry.record', '1 day', 'ROUTER.HELD'), ($2::uuid, 'record.lead.updated', '0', NULL)) x("id", "type", "off", "code")`,
    [held, behind],
  );
  const tell = (...args: string[]): Promise<CliResult> => runCli(args, { DATABASE_URL: url, HELD_ROUTE: "audit." }, CLI_WITH_PARTS);
  const stats = await tell("outbox", "stats");
  expect(stats.stdout).toMatch(/^audit\. +audit-append +1 +\S+ +2026-12-02 +its proof is on its way$/m);
  const [json, trace, blocked] = await Promise.all([
    tell("outbox", "stats", "--json"),
    tell("outbox", "trace", held),
    tell("outbox", "blocked"),
  ]);
  expect(json.json()).toMatchObject({ heldRoutes: [{ route: "audit.", consumer: "audit-append", since: "2026-12-02", events: 1 }] });
  expect(trace.stdout).toMatch(
    /^held: pull workers hold its route audit\.: audit-append .+ its proof is on its way$\nnext: .+OUTBOX_PULL_WORKER=false/m,
  );
  expect(blocked.stdout).toMatch(new RegExp(`^held +Lead/1 +acme +${held}`, "m"));
});
