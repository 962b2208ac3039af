import type { Database } from "@toolctrl/db/client";
import { backfillRecordKeys, countRecordKeys, recordKeyReady, type BackfillReport } from "@toolctrl/db/record-key";
import type { Command } from "commander";
import { watchInterrupt } from "../bulk/watch-interrupt.ts";
import type { Invocation, Registrar } from "../command.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { addAuditOptions, type AuditOptions } from "../options/action-options.ts";
import { integerOption } from "../options/parse-options.ts";
import { count } from "../output/format-values.ts";
import { createProgress } from "../output/progress.ts";
import { writeResult } from "../output/write-result.ts";
import { withDatabase } from "../resources.ts";

interface BackfillCommandOptions extends AuditOptions {
  readonly dryRun?: boolean;
  readonly batchSize: number;
}

const NO_COLUMN = "Nothing to do: the table has no record keys yet. `toolctrl-cli db migrate` adds them.";

/** `outbox backfill-record-key`: gives events from before the migration their record keys, then validates the constraint. */
export function registerOutboxBackfillRecordKey(parent: Command, registrar: Registrar): void {
  const command = parent
    .command("backfill-record-key")
    .description(
      "give events from before the migration their record keys, beside the traffic, then validate the constraint; run it again after any end",
    )
    .option("--batch-size <n>", "events per transaction", integerOption(1, 10_000), 1000)
    .option("--dry-run", "count what is missing, change nothing");
  registrar.handle<BackfillCommandOptions>(addAuditOptions(command), (invocation) =>
    withDatabase(invocation.io, ({ pool }) => (invocation.options.dryRun === true ? preview(pool, invocation) : run(pool, invocation))),
  );
}

async function preview(pool: Database["pool"], { io, json }: Invocation<BackfillCommandOptions>): Promise<ExitCode> {
  const ready = await recordKeyReady(pool);
  const counts = ready.column ? await countRecordKeys(pool) : { events: 0, missing: 0, withoutRecord: 0 };
  writeResult(io, json, { action: "backfill-record-key", dryRun: true, ...ready, ...counts }, () => {
    if (!ready.column) return NO_COLUMN;
    if (ready.validated) return "Nothing to do: every event has its record key, and the constraint is validated.";
    const own = `${counts.withoutRecord} of them name no record and become lines of their own`;
    return `Would key ${counts.missing} of ${count(counts.events, "event")} (${own}), then validate the constraint. Nothing was changed.`;
  });
  return EXIT.ok;
}

async function run(pool: Database["pool"], { io, json, options }: Invocation<BackfillCommandOptions>): Promise<ExitCode> {
  const { column, validated } = await recordKeyReady(pool);
  const missing = column && !validated ? (await countRecordKeys(pool)).missing : 0;
  const progress = createProgress(io, "keyed", missing);
  const interrupt = watchInterrupt();
  try {
    const { actor, reason, batchSize } = options;
    const report = await backfillRecordKeys(pool, { actor, reason, batchSize, signal: interrupt.signal, onBatch: progress.step });
    writeResult(io, json, { action: "backfill-record-key", dryRun: false, missing, ...report }, () => describe(report));
    return report.interrupted ? EXIT.partial : EXIT.ok;
  } finally {
    progress.end();
    interrupt.stop();
  }
}

function describe(report: BackfillReport): string {
  if (!report.column) return NO_COLUMN;
  if (report.interrupted) return `Keyed ${count(report.keyed, "event")} and was interrupted. Run it again: it goes on with the rest.`;
  if (report.actionId === null) return "Nothing to do: every event has its record key, and the constraint is validated.";
  return `Keyed ${count(report.keyed, "event")}. The constraint is validated: every event has its record key.`;
}
