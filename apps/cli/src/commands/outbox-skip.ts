import type { Database } from "@toolctrl/db/client";
import { readEventStates, skipEvents, whyNotSkip, type EventOutcome } from "@toolctrl/outbox-drainer/actions";
import type { Command } from "commander";
import { hintDrainers } from "../hint-drainers.ts";
import { assertChanged } from "../bulk/assert-changed.ts";
import type { Invocation, Registrar } from "../command.ts";
import { isEventId } from "../event-id.ts";
import type { ExitCode } from "../exit-codes.ts";
import { addAuditOptions, type ActionOptions } from "../options/action-options.ts";
import { confirm } from "../output/confirm.ts";
import { count } from "../output/format-values.ts";
import { table } from "../output/table.ts";
import { writeResult } from "../output/write-result.ts";
import { withDatabase } from "../resources.ts";

type SkipOptions = Pick<ActionOptions, "dryRun" | "yes" | "actor" | "reason">;

/** `outbox skip`: the line of a record goes on without its parked head. */
export function registerOutboxSkip(parent: Command, registrar: Registrar): void {
  const command = parent
    .command("skip")
    .description("let records go on without their parked heads: the events stay FAILED and hold nothing any more. Others are refused")
    .argument("<ids...>", "ids of parked events, as `outbox blocked` lists them")
    .option("--dry-run", "say what would happen, change nothing")
    .option("--yes", "do not ask");
  registrar.handle<SkipOptions>(addAuditOptions(command), (invocation) =>
    withDatabase(invocation.io, ({ pool }) => (invocation.options.dryRun === true ? planSkip(pool, invocation) : skip(pool, invocation))),
  );
}

async function planSkip(pool: Database["pool"], { io, json, args }: Invocation<SkipOptions>): Promise<ExitCode> {
  const { ids, unknown } = split(args);
  const states = await readEventStates(pool, ids);
  const planned = ids.map((id) => {
    const state = states.get(id);
    if (state === undefined) return { id, outcome: "not-found" as const };
    const why = whyNotSkip(state);
    return why === null ? { id, outcome: "would-skip" as const } : { id, outcome: "refused" as const, status: state.status, why };
  });
  const events = [...planned, ...unknown];
  const exit = assertChanged(events);
  const possible = planned.filter((event) => event.outcome === "would-skip").length;
  writeResult(io, json, { action: "skip", dryRun: true, events }, () => `Would skip ${count(possible, "event")}. Nothing was changed.`);
  return exit;
}

async function skip(pool: Database["pool"], { io, json, options, args }: Invocation<SkipOptions>): Promise<ExitCode> {
  const { ids, unknown } = split(args);
  await confirm(io, `Let the records go on without ${count(args.length, "event")}?`, { yes: options.yes === true, bulk: false });
  const report = await skipEvents({ pool }, { ids, actor: options.actor, reason: options.reason ?? null });
  const events = [...report.events, ...unknown];
  const exit = assertChanged(events);
  await hintDrainers(pool);
  writeResult(io, json, { action: "skip", dryRun: false, actionId: report.actionId, events }, () =>
    table(
      io,
      ["ID", "OUTCOME", "WHY"],
      events.map((event) => [event.id, event.outcome, event.outcome === "refused" ? event.why : ""]),
    ),
  );
  return exit;
}

function split(args: readonly string[]): { ids: string[]; unknown: EventOutcome[] } {
  return {
    ids: args.filter(isEventId).map((id) => id.toLowerCase()),
    unknown: args.filter((id) => !isEventId(id)).map((id) => ({ id, outcome: "not-found" })),
  };
}
