import type { Database } from "@toolctrl/db/client";
import type { Router } from "@toolctrl/event-router/router";
import { planRequeue, requeueEvents, type EventOutcome, type PlannedRequeue } from "@toolctrl/outbox-drainer/actions";
import { hintDrainers } from "../hint-drainers.ts";
import type { Invocation } from "../command.ts";
import { isEventId } from "../event-id.ts";
import type { ExitCode } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import { jitterMsOf, type RequeueOptions } from "../options/requeue-options.ts";
import { confirm } from "../output/confirm.ts";
import { count, formatTime } from "../output/format-values.ts";
import { table } from "../output/table.ts";
import { writeResult } from "../output/write-result.ts";
import { assertChanged } from "./assert-changed.ts";
import { warnOfPlan } from "./warn-of-plan.ts";

/** Requeues events named by their ids. Says first which consumers stay suppressed and which run. */
export async function requeueByIds(
  deps: { pool: Database["pool"]; router: Router },
  { io, json, options, args }: Invocation<RequeueOptions>,
  replayConsumer: string | null,
): Promise<ExitCode> {
  const action = replayConsumer === null ? "requeue" : "replay";
  const ids = args.filter(isEventId).map((id) => id.toLowerCase());
  const unknown = args.filter((id) => !isEventId(id)).map((id) => ({ id, outcome: "not-found" as const }));
  const plan = await planRequeue({ db: deps.pool, router: deps.router }, { ids, replayConsumer });
  if (options.dryRun === true) {
    const exit = assertChanged([...plan, ...unknown]);
    warnOfPlan(io, plan, replayConsumer);
    writeResult(io, json, { action, dryRun: true, events: [...plan, ...unknown] }, () => describe(io, [...plan, ...unknown]));
    return exit;
  }
  const possible = plan.filter((event) => event.outcome === "would-requeue");
  // Nothing to change: no question; the refusal is recorded all the same.
  if (possible.length > 0) {
    warnOfPlan(io, plan, replayConsumer);
    const question =
      replayConsumer === null
        ? `Requeue ${count(possible.length, "event")}?`
        : `Repeat ${replayConsumer} for ${count(possible.length, "event")}?`;
    await confirm(io, question, { yes: options.yes === true, bulk: false });
  }
  const report = await requeueEvents(deps, {
    ids,
    actor: options.actor,
    reason: options.reason ?? null,
    jitterMs: options.jitter === undefined ? 0 : jitterMsOf(options, ids.length),
    ...(replayConsumer === null ? {} : { replay: { consumer: replayConsumer } }),
  });
  const events = [...report.events, ...unknown];
  const exit = assertChanged(events);
  await hintDrainers(deps.pool);
  writeResult(io, json, { action, dryRun: false, actionId: report.actionId, events }, () => describe(io, events));
  return exit;
}

function describe(io: Io, events: ReadonlyArray<EventOutcome | PlannedRequeue>): string {
  const rows = events.map((event) => {
    if (event.outcome === "requeued")
      return [event.id, event.outcome, event.from, `generation ${event.generation}, due ${formatTime(event.scheduledAt)}`];
    if (event.outcome === "would-requeue") return [event.id, event.outcome, event.status, describeRun(event)];
    if (event.outcome === "refused") return [event.id, event.outcome, event.status, event.why];
    return [event.id, event.outcome, "-", ""];
  });
  const [first] = events;
  const next = first === undefined ? "" : `\n\nnext: \`toolctrl-cli outbox trace ${first.id}\``;
  return table(io, ["ID", "OUTCOME", "FROM", "DETAIL"], rows) + next;
}

function describeRun({ routable, willRun }: Extract<PlannedRequeue, { outcome: "would-requeue" }>): string {
  return routable ? `${willRun.join(", ") || "no consumer"} will run` : "its consumers are unknown here";
}
