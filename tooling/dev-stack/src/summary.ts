import Table from "cli-table3";
import { EFFECT_KINDS, type EffectKind } from "./effect-kinds.ts";

/** What one run of the sample traffic came to. `seconds` is from the first publish to the last effect. */
export interface Summary {
  readonly published: number;
  readonly rolledBack: number;
  readonly duplicatesSuppressed: number;
  /** FAILED events and dead jobs. */
  readonly deadLettered: number;
  readonly effects: Record<EffectKind, number>;
  readonly missing: number;
  readonly doubled: number;
  readonly drainer: "batch" | "pull";
  readonly backend: "redis" | "postgres";
  readonly seconds: number;
}

/** The summary as a table for people. */
export function renderSummary(summary: Summary): string {
  const table = new Table({ style: { head: [], border: [] }, colAligns: ["left", "right"] });
  table.push(
    ["events published", summary.published],
    ["transactions rolled back", summary.rolledBack],
    ["duplicates suppressed", summary.duplicatesSuppressed],
    ["dead-lettered (as planned: 2)", summary.deadLettered],
    ...EFFECT_KINDS.map((kind): [string, number] => [`effects: ${kind}`, summary.effects[kind]]),
    ["effects missing", summary.missing],
    ["effects doubled", summary.doubled],
    ["drainer / queue", `${summary.drainer} / ${summary.backend}`],
    ["seconds", summary.seconds.toFixed(1)],
  );
  return table.toString();
}
