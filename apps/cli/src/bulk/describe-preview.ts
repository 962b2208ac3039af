import type { MatchPreview } from "@toolctrl/outbox-drainer/actions";
import type { Io } from "../io.ts";
import { count, formatStatus } from "../output/format-values.ts";
import { table } from "../output/table.ts";

/** What a bulk would touch, for people. */
export function describePreview(io: Io, verb: string, preview: MatchPreview): string {
  if (preview.total === 0) return `Nothing matches: there is nothing to ${verb}. \`toolctrl-cli outbox stats\` counts what is there.`;
  const rows = preview.byType.map((row) => [formatStatus(io, row.status), row.eventType, String(row.events)]);
  return [`${count(preview.total, "event")} to ${verb}:`, table(io, ["STATUS", "TYPE", "EVENTS"], rows)].join("\n");
}
