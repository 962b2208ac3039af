import { createDatabase, type Database } from "@toolctrl/db/client";
import { rowCreate, rowUpdate, type Row, type RowChange } from "@toolctrl/domain/rows";
import { spawnNode, type ChildHandle } from "@toolctrl/testkit/process";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import { onTestFinished } from "vitest";
import type { Installation } from "./support.ts";
import { startWorkerProcess, type Worker } from "./worker.ts";

export const TENANT = "acme";
export const IN_TX = { maxWait: 60_000, timeout: 120_000 };

/** A database on which pull workers may claim, and processes of them. */
export interface PullRig {
  readonly database: Database;
  start(env?: Readonly<Record<string, string>>): Promise<ChildHandle>;
}

export async function openPullRig(poolMax = 8): Promise<PullRig> {
  const { url } = await createTestDatabase();
  const database = await createDatabase({ url, poolMax, app: "test", wakeup: false });
  onTestFinished(() => database.close());
  await database.pool.query(`UPDATE "OutboxMode" SET "mode" = 'pull', "desired" = 'pull'`);
  return {
    database,
    async start(env = {}) {
      const child = spawnNode(new URL("./pull-process.ts", import.meta.url), { env: { DATABASE_URL: url, ...env } });
      await child.waitForLine(/^drains$/, { timeoutMs: 60_000 });
      return child;
    },
  };
}

/** worker-general with its gate open, and its vote for pull workers; resolves when they run. */
export async function startPullApp(installation: Installation): Promise<Worker> {
  const env = { OUTBOX_PULL_WORKER: "true" };
  const worker = await startWorkerProcess(new URL("./open-gate.ts", import.meta.url), installation.env, { env });
  await waitFor(async () => (await worker.ready()).drainer?.running === "pull", { timeoutMs: 30_000, what: "pull workers to run" });
  return worker;
}

export function createRow(database: Database, table: string, name: string, parent?: Row): Promise<RowChange> {
  return database.prisma.$transaction((tx) => rowCreate(tx, { tenantId: TENANT, table, data: { name }, parent }), IN_TX);
}

export function renameRow(database: Database, row: Row, name: string): Promise<RowChange> {
  return database.prisma.$transaction((tx) => rowUpdate(tx, { ...row, data: { name } }), IN_TX);
}

/** An event as an operator sees it. */
export interface LineEvent {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly retries: number;
  readonly crashes: number;
  readonly lastErrorCode: string | null;
}

/** Events in insert order; without ids all. */
export async function eventsOf(database: Database, ids: readonly string[] | null = null): Promise<LineEvent[]> {
  const { rows } = await database.pool.query<LineEvent>(
    `SELECT "id"::text, "status"::text, "attempts", "retries", "crashes", "lastErrorCode" FROM "OutboxEvent"
     WHERE $1::uuid[] IS NULL OR "id" = ANY($1) ORDER BY "position"`,
    [ids],
  );
  return rows;
}

export async function untilDone(database: Database, ids: readonly string[] | null = null, timeoutMs = 60_000): Promise<void> {
  const open = async (): Promise<string[]> => (await eventsOf(database, ids)).filter(({ status }) => status !== "DONE").map(({ id }) => id);
  await waitFor(async () => (await open()).length === 0 || Promise.reject(new Error((await open()).join())), {
    timeoutMs,
    what: "every event to be DONE",
  });
}
