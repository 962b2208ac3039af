import type { Database } from "@toolctrl/db/client";
import {
  cancelEvents,
  previewMatchingEvents,
  readEventStates,
  type EventOutcome,
  type OutboxStatus,
} from "@toolctrl/outbox-drainer/actions";
import type { Command } from "commander";
import { assertChanged } from "../bulk/assert-changed.ts";
import { assertSelection } from "../bulk/assert-selection.ts";
import { describeBulk } from "../bulk/describe-bulk.ts";
import { describePreview } from "../bulk/describe-preview.ts";
import { exitCodeOfBulk } from "../bulk/exit-code-of-bulk.ts";
import { runBulk } from "../bulk/run-bulk.ts";
import type { Invocation, Registrar } from "../command.ts";
import { isEventId } from "../event-id.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { addActionOptions, DEFAULT_LIMIT, type ActionOptions } from "../options/action-options.ts";
import { addFilterOptions, resolveFilter, type FilterOptions } from "../options/filter-options.ts";
import { confirm } from "../output/confirm.ts";
import { count } from "../output/format-values.ts";
import { table } from "../output/table.ts";
import { writeResult } from "../output/write-result.ts";
import { withDatabase } from "../resources.ts";

type CancelOptions = FilterOptions & ActionOptions;

const CANCELLABLE: readonly OutboxStatus[] = ["PENDING", "FAILED"];

/** `outbox cancel`: events that nobody has claimed, or that failed for good, are never sent. */
export function registerOutboxCancel(parent: Command, registrar: Registrar): void {
  const command = parent
    .command("cancel")
    .description("never send events that are PENDING or FAILED: named by id, or all that match a filter with --status. Others are refused")
    .argument("[ids...]", "ids of events");
  registrar.handle<CancelOptions>(addActionOptions(addFilterOptions(command)), async (invocation) => {
    assertSelection(invocation.args, invocation.options, CANCELLABLE);
    return withDatabase(invocation.io, ({ pool }) =>
      invocation.args.length > 0 ? cancelByIds(pool, invocation) : cancelByFilter(pool, invocation),
    );
  });
}

async function cancelByIds(pool: Database["pool"], { io, json, options, args }: Invocation<CancelOptions>): Promise<ExitCode> {
  const ids = args.filter(isEventId).map((id) => id.toLowerCase());
  const unknown = args.filter((id) => !isEventId(id)).map((id): EventOutcome => ({ id, outcome: "not-found" }));
  if (options.dryRun === true) {
    const states = await readEventStates(pool, ids);
    const events = ids.map((id) => {
      const status = states.get(id)?.status;
      if (status === undefined) return { id, outcome: "not-found" as const };
      if (CANCELLABLE.includes(status)) return { id, outcome: "would-cancel" as const, status };
      return { id, outcome: "refused" as const, status, why: `expected the event to be PENDING or FAILED, got ${status}` };
    });
    const exit = assertChanged([...events, ...unknown]);
    writeResult(
      io,
      json,
      { action: "cancel", dryRun: true, events: [...events, ...unknown] },
      () => `Would cancel ${count(events.filter((event) => event.outcome === "would-cancel").length, "event")}. Nothing was changed.`,
    );
    return exit;
  }
  await confirm(io, `Cancel ${count(args.length, "event")}?`, { yes: options.yes === true, bulk: false });
  const report = await cancelEvents({ pool }, { ids, actor: options.actor, reason: options.reason ?? null });
  const events = [...report.events, ...unknown];
  const exit = assertChanged(events);
  writeResult(io, json, { action: "cancel", dryRun: false, actionId: report.actionId, events }, () =>
    table(
      io,
      ["ID", "OUTCOME", "WHY"],
      events.map((event) => [event.id, event.outcome, event.outcome === "refused" ? event.why : ""]),
    ),
  );
  return exit;
}

async function cancelByFilter(pool: Database["pool"], { io, json, options }: Invocation<CancelOptions>): Promise<ExitCode> {
  const filter = await resolveFilter(pool, options, { statuses: CANCELLABLE, bounded: true });
  const limit = options.limit ?? DEFAULT_LIMIT;
  const preview = await previewMatchingEvents(pool, filter, limit);
  if (options.dryRun === true || preview.total === 0) {
    writeResult(io, json, { action: "cancel", dryRun: options.dryRun === true, filter, ...preview }, () =>
      describePreview(io, "cancel", preview),
    );
    return EXIT.ok;
  }
  io.err.write(`${describePreview(io, "cancel", preview)}\n`);
  await confirm(io, `Cancel ${count(preview.total, "event")}?`, { yes: options.yes === true, bulk: true });
  const params = { filter: JSON.parse(JSON.stringify(filter)), limit };
  const report = await runBulk(io, pool, {
    filter,
    limit,
    batchSize: options.batchSize,
    total: preview.total,
    verb: "cancelled",
    act: (ids) => cancelEvents({ pool }, { ids, actor: options.actor, reason: options.reason ?? null, params }),
  });
  writeResult(io, json, { action: "cancel", dryRun: false, filter, matched: preview.total, ...report }, () =>
    describeBulk("Cancelled", report),
  );
  return exitCodeOfBulk(report, options.limit !== undefined);
}
