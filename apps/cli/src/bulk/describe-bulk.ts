import { count } from "../output/format-values.ts";
import type { BulkReport } from "./run-bulk.ts";

/** The end of a bulk, for people. */
export function describeBulk(verb: string, report: BulkReport): string {
  const [refusal] = report.refusedEvents;
  return [
    `${verb} ${count(report.changed, "event")} in ${report.batches} ${report.batches === 1 ? "batch" : "batches"}.`,
    ...(refusal === undefined ? [] : [`Refused ${count(report.refused, "event")}, for example ${refusal.id}: ${refusal.why}.`]),
    ...(report.interrupted ? ["Interrupted: run the same command again for the rest."] : []),
    ...(report.more && !report.interrupted ? ["More events match: run the same command again, or raise --limit."] : []),
    "next: `toolctrl-cli outbox stats`",
  ].join("\n");
}
