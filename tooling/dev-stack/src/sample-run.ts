import { randomUUID } from "node:crypto";
import type { Database } from "@toolctrl/db/client";
import { QUEUE_NAMES } from "@toolctrl/foundation/queues";
import type { QueueBackend } from "@toolctrl/queue/port";
import { answerQuestions } from "./answer-questions.ts";
import { compare, type Comparison } from "./compare.ts";
import { observe, readIntents } from "./observe.ts";
import type { Progress } from "./progress.ts";
import type { Sinks } from "./sinks.ts";
import type { Summary } from "./summary.ts";
import { generateTraffic, TENANTS, type TrafficReport } from "./traffic.ts";

export interface SampleRunDeps {
  readonly database: Database;
  readonly backend: QueueBackend;
  readonly sinks: Sinks;
  readonly progress: Progress;
  readonly transactions: number;
  readonly deadlineSeconds: number;
  /** Rejects the run when a worker ends on the way. */
  readonly workerEnded: Promise<string>;
}

export interface SampleRun {
  readonly summary: Summary;
  /** What is missing or doubled, a line each. */
  readonly complaints: string[];
}

/** Publishes the sample traffic, waits until nothing more can happen, and compares the world with the ledger. */
export async function runSample(deps: SampleRunDeps): Promise<SampleRun> {
  const runId = randomUUID();
  const startedAt = performance.now();
  let report: TrafficReport = { published: 0, rolledBack: 0, duplicatesSuppressed: 0, mustDie: 0 };
  for await (report of generateTraffic(deps.database, runId, deps.transactions)) {
    if (report.published % 20 === 0) deps.progress.show(report, await compareNow(deps, runId));
  }
  const comparison = await untilQuiet(deps, runId, report);
  deps.progress.end();
  return {
    summary: {
      published: report.published,
      rolledBack: report.rolledBack,
      duplicatesSuppressed: report.duplicatesSuppressed,
      deadLettered: await countDead(deps.database, runId),
      effects: comparison.effects,
      missing: comparison.missing.length,
      doubled: comparison.doubled.length,
      drainer: await readDrainer(deps.database),
      backend: deps.backend.kind,
      seconds: Math.round((performance.now() - startedAt) / 100) / 10,
    },
    complaints: [...comparison.missing.map((line) => `missing: ${line}`), ...comparison.doubled.map((line) => `doubled: ${line}`)],
  };
}

const LOOK_EVERY_MS = 250;

/**
 * Waits until nothing is left that could have one more effect: what is missing then is lost, and an earlier look would not see a double.
 * It takes two looks in a row, as the events and the queues are not read at one time: between them a job can end that has published.
 */
async function untilQuiet(deps: SampleRunDeps, runId: string, report: TrafficReport): Promise<Comparison> {
  const giveUpAt = performance.now() + deps.deadlineSeconds * 1000;
  let [ended, quietLooks]: [string | undefined, number] = [undefined, 0];
  void deps.workerEnded.then((how) => (ended = how));
  for (;;) {
    await answerQuestions(deps.database, TENANTS);
    deps.progress.show(report, await compareNow(deps, runId));
    quietLooks = (await isQuiet(deps, runId, report)) ? quietLooks + 1 : 0;
    // What was seen before the queues fell quiet is not the last word.
    if (quietLooks === 2 || performance.now() > giveUpAt) return compareNow(deps, runId);
    if (ended !== undefined) throw new Error(ended);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

/** What will end a question that has been answered waits for days, and is nothing to wait for. */
async function isQuiet(deps: SampleRunDeps, runId: string, report: TrafficReport): Promise<boolean> {
  const { rows } = await deps.database.pool.query<{ open: number }>(
    `SELECT count(*)::int AS open FROM "OutboxEvent" WHERE "correlationId" = $1 AND "status" IN ('PENDING', 'PROCESSING') AND "payload" ->> 'reason' IS DISTINCT FROM 'expiry'`,
    [runId],
  );
  if ((rows[0]?.open ?? 0) > 0 || (await countDead(deps.database, runId)) < report.mustDie) return false;
  const counts = await Promise.all(
    QUEUE_NAMES.filter((queue) => queue !== "toolctrl.maintenance").map((queue) => deps.backend.counts(queue)),
  );
  return counts.every((count) => count.waiting + count.active + count.delayed === 0);
}

async function compareNow(deps: SampleRunDeps, runId: string): Promise<Comparison> {
  return compare(await readIntents(deps.database, runId), await observe(deps.database, deps.sinks, runId));
}

/** FAILED events, and events whose consumer gave up for good. */
async function countDead(database: Database, runId: string): Promise<number> {
  const { rows } = await database.pool.query<{ dead: number }>(
    `SELECT (SELECT count(*) FROM "OutboxEvent" WHERE "correlationId" = $1 AND "status" = 'FAILED')::int
          + (SELECT count(*) FROM "OutboxReceipt" r JOIN "OutboxEvent" e ON e."id" = r."eventId"
             WHERE e."correlationId" = $1 AND r."outcome" = 'dead')::int AS dead`,
    [runId],
  );
  return rows[0]?.dead ?? 0;
}

async function readDrainer(database: Database): Promise<"batch" | "pull"> {
  const { rows } = await database.pool.query<{ mode: "batch" | "pull" }>(`SELECT "mode" FROM "OutboxMode"`);
  return rows[0]?.mode ?? "batch";
}
