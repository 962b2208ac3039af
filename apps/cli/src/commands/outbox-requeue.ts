import type { Database } from "@toolctrl/db/client";
import { createRouter } from "@toolctrl/event-router/router";
import { REQUEUEABLE } from "@toolctrl/outbox-drainer/actions";
import type { Command } from "commander";
import { assertSelection } from "../bulk/assert-selection.ts";
import { requeueByFilter } from "../bulk/requeue-by-filter.ts";
import { requeueByIds } from "../bulk/requeue-by-ids.ts";
import type { Registrar } from "../command.ts";
import { addActionOptions } from "../options/action-options.ts";
import { addFilterOptions } from "../options/filter-options.ts";
import { parseDurationMs, textOption } from "../options/parse-options.ts";
import { replayConsumerOf, type RequeueOptions } from "../options/requeue-options.ts";
import { withDatabase } from "../resources.ts";

const AFTER_HELP = `
Without --replay, consumers that have finished an event (they have a receipt) stay suppressed; the others run.
With --replay --consumer X, consumer X repeats its effect on purpose: a second mail, webhook or row; the others stay suppressed.

Examples:
  toolctrl-cli outbox requeue 019a…                                    one event, after mending its receiver
  toolctrl-cli outbox requeue --status FAILED --type mail --dry-run    what a bulk would touch
  toolctrl-cli outbox requeue --status DONE --from 2h --yes            handed off in the last two hours (after a queue lost its jobs)
  toolctrl-cli outbox requeue 019a… --replay --consumer email-send     send that mail again
`;

/** `outbox requeue`: sends finished events out again. */
export function registerOutboxRequeue(parent: Command, registrar: Registrar): void {
  const command = parent
    .command("requeue")
    .description(
      "send FAILED, CANCELLED or DONE events out again: named by id, or all that match a filter with --status. PENDING and PROCESSING are refused",
    )
    .argument("[ids...]", "ids of events")
    .option(
      "--jitter <duration>",
      "bulk: spread the events over this time from now (default: 20 ms an event, at most 60s)",
      parseDurationMs,
    )
    .option("--replay", "repeat the effect of one consumer on purpose; needs --consumer")
    .option("--consumer <name>", "the consumer that --replay repeats", textOption(100))
    .addHelpText("after", AFTER_HELP);
  registrar.handle<RequeueOptions>(addActionOptions(addFilterOptions(command)), async (invocation) => {
    assertSelection(invocation.args, invocation.options, REQUEUEABLE);
    const replayConsumer = replayConsumerOf(invocation.options);
    const run = invocation.args.length > 0 ? requeueByIds : requeueByFilter;
    return withDatabase(invocation.io, ({ pool }: Database) => run({ pool, router: createRouter() }, invocation, replayConsumer));
  });
}
