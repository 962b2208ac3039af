import { OUTBOX_STATUSES } from "@toolctrl/outbox-drainer/actions";
import { listEvents, type EventListing } from "@toolctrl/outbox-drainer/stats";
import type { Command } from "commander";
import type { Registrar } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import { addFilterOptions, resolveFilter, type FilterOptions } from "../options/filter-options.ts";
import { integerOption } from "../options/parse-options.ts";
import { formatStatus, formatTime, shorten } from "../output/format-values.ts";
import { table } from "../output/table.ts";
import { writeResult } from "../output/write-result.ts";
import { withDatabase } from "../resources.ts";

/** `outbox list`: the newest events that match, without payloads. */
export function registerOutboxList(parent: Command, registrar: Registrar): void {
  const command = addFilterOptions(parent.command("list").description("the newest events that match, newest first")).option(
    "--limit <n>",
    "at most this many",
    integerOption(1, 10_000),
    50,
  );
  registrar.handle<FilterOptions & { limit: number }>(command, ({ io, json, options }) =>
    withDatabase(io, async ({ pool }) => {
      const filter = await resolveFilter(pool, options, { statuses: OUTBOX_STATUSES, bounded: false });
      const found = await listEvents(pool, filter, options.limit + 1);
      const events = found.slice(0, options.limit);
      writeResult(io, json, { events, more: found.length > events.length }, () => describe(io, events, found.length > events.length));
      return EXIT.ok;
    }),
  );
}

function describe(io: Io, events: readonly EventListing[], more: boolean): string {
  if (events.length === 0) return "No event matches. `toolctrl-cli outbox stats` counts what is there.";
  const rows = events.map((event) => [
    event.id,
    formatStatus(io, event.status),
    event.eventType,
    event.tenantId,
    String(event.attempts),
    String(event.retries),
    formatTime(event.createdAt),
    shorten(event.lastErrorCode, 40),
  ]);
  const text = table(io, ["ID", "STATUS", "TYPE", "TENANT", "ATTEMPTS", "RETRIES", "PUBLISHED", "ERROR"], rows);
  return more ? `${text}\n\nThere are more: narrow the filter or raise --limit.` : text;
}
