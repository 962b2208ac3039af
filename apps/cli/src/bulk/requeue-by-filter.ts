import type { Database } from "@toolctrl/db/client";
import type { Router } from "@toolctrl/event-router/router";
import { previewMatchingEvents, requeueEvents, REQUEUEABLE, type MatchPreview } from "@toolctrl/outbox-drainer/actions";
import { hintDrainers } from "../hint-drainers.ts";
import type { Invocation } from "../command.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import { DEFAULT_LIMIT } from "../options/action-options.ts";
import { resolveFilter } from "../options/filter-options.ts";
import { jitterMsOf, type RequeueOptions } from "../options/requeue-options.ts";
import { confirm } from "../output/confirm.ts";
import { count } from "../output/format-values.ts";
import { writeResult } from "../output/write-result.ts";
import { describeBulk } from "./describe-bulk.ts";
import { describePreview } from "./describe-preview.ts";
import { exitCodeOfBulk } from "./exit-code-of-bulk.ts";
import { runBulk } from "./run-bulk.ts";

/** Requeues everything that matches a filter, batch by batch. Says first how much that is and which consumers stay suppressed. */
export async function requeueByFilter(
  deps: { pool: Database["pool"]; router: Router },
  { io, json, options }: Invocation<RequeueOptions>,
  replayConsumer: string | null,
): Promise<ExitCode> {
  const action = replayConsumer === null ? "requeue" : "replay";
  const filter = await resolveFilter(deps.pool, options, { statuses: REQUEUEABLE, bounded: true });
  const limit = options.limit ?? DEFAULT_LIMIT;
  const preview = await previewMatchingEvents(deps.pool, filter, limit);
  const jitterMs = jitterMsOf(options, preview.total);
  if (options.dryRun === true || preview.total === 0) {
    warnOfPreview(io, preview, replayConsumer);
    writeResult(io, json, { action, dryRun: options.dryRun === true, filter, jitterMs, ...preview }, () =>
      describePreview(io, action, preview),
    );
    return EXIT.ok;
  }
  io.err.write(`${describePreview(io, action, preview)}\n`);
  warnOfPreview(io, preview, replayConsumer);
  const question =
    replayConsumer === null
      ? `Requeue ${count(preview.total, "event")}?`
      : `Repeat ${replayConsumer} for ${count(preview.total, "event")}?`;
  await confirm(io, question, { yes: options.yes === true, bulk: true });
  const request = {
    actor: options.actor,
    reason: options.reason ?? null,
    jitterMs,
    params: { filter: JSON.parse(JSON.stringify(filter)), limit },
    ...(replayConsumer === null ? {} : { replay: { consumer: replayConsumer } }),
  };
  const report = await runBulk(io, deps.pool, {
    filter,
    limit,
    batchSize: options.batchSize,
    total: preview.total,
    verb: "requeued",
    act: (ids) => requeueEvents(deps, { ...request, ids }),
  });
  await hintDrainers(deps.pool);
  writeResult(io, json, { action, dryRun: false, filter, jitterMs, matched: preview.total, receipts: preview.receipts, ...report }, () =>
    describeBulk("Requeued", report),
  );
  return exitCodeOfBulk(report, options.limit !== undefined);
}

function warnOfPreview(io: Io, preview: MatchPreview, replayConsumer: string | null): void {
  if (preview.mayFollowYounger > 0)
    io.err.write(
      `warning: ${count(preview.mayFollowYounger, "event")} can follow younger events of the same record; parked ones keep their place\n`,
    );
  for (const { consumer, events } of preview.receipts) {
    const fate = consumer === replayConsumer ? "repeats its effect" : "stays suppressed";
    io.err.write(`warning: ${consumer} has a receipt of ${count(events, "event")} and ${fate} there\n`);
  }
}
