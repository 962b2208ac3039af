import type { Command } from "commander";
import { databaseNow, type EventFilter, type OutboxStatus } from "@toolctrl/outbox-drainer/actions";
import type { Queryable } from "@toolctrl/db/sql";
import { momentOf, parseStatuses, parseTime, textOption, type TimeOption } from "./parse-options.ts";

export interface FilterOptions {
  readonly status?: OutboxStatus[];
  readonly type?: string;
  readonly tenant?: string;
  readonly from?: TimeOption;
  readonly to?: TimeOption;
}

/** Adds the options that say which events are meant. */
export function addFilterOptions(command: Command): Command {
  return command
    .option(
      "--status <list>",
      "states, separated by commas or given several times: PENDING, PROCESSING, DONE, FAILED, CANCELLED",
      parseStatuses,
    )
    .option("--type <prefix>", "event type or its first segments, e.g. billing or billing.invoice.paid", textOption(200))
    .option("--tenant <id>", "tenant", textOption(200))
    .option(
      "--from <time>",
      "from this time on: ISO 8601 with zone, a date (UTC), or how long ago (2h). DONE counts from its hand-off, FAILED and CANCELLED from their end, others from publishing",
      parseTime,
    )
    .option("--to <time>", "before this time", parseTime);
}

/** Whether any filter was given. */
export function hasFilter(options: FilterOptions): boolean {
  return [options.status, options.type, options.tenant, options.from, options.to].some((value) => value !== undefined);
}

/**
 * The filter the options mean, its relative times fixed by the database's clock.
 * With `bounded`, the end is now at the latest: what the command itself changes must not come up again.
 */
export async function resolveFilter(
  db: Queryable,
  options: FilterOptions,
  settings: { statuses: readonly OutboxStatus[]; bounded: boolean },
): Promise<EventFilter> {
  const now = await databaseNow(db);
  const at = (time: TimeOption): Date => momentOf(time, now);
  const end = options.to === undefined ? undefined : at(options.to);
  const to = settings.bounded && (end === undefined || end > now) ? now : end;
  return {
    statuses: options.status ?? settings.statuses,
    ...(options.type === undefined ? {} : { typePrefix: options.type }),
    ...(options.tenant === undefined ? {} : { tenantId: options.tenant }),
    ...(options.from === undefined ? {} : { from: at(options.from) }),
    ...(to === undefined ? {} : { to }),
  };
}
