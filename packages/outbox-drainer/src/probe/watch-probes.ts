import { setTimeout as delay } from "node:timers/promises";
import type { Queryable } from "@toolctrl/db/sql";
import type { PublishedProbe } from "./publish-probes.ts";
import { readProbes, type ProbeRow } from "./sql/read-probes.ts";

export interface ProbeReceipt {
  readonly consumer: string;
  readonly ms: number;
}

/** How far a probe has come. Times count from its publishing, by the database's clock. */
export interface ProbeProgress extends PublishedProbe {
  readonly passed: boolean;
  /** Null until it is handed off, or its effects are committed. */
  readonly handOffMs: number | null;
  readonly receipts: readonly ProbeReceipt[];
  /** The consumers of its route whose receipt has not come. */
  readonly missing: readonly string[];
}

const LOOK_EVERY_MS = 100;

/**
 * Looks at the probes until each has passed or cannot any more (its hand-off failed, or a consumer gave up), `timeoutMs` are over, or
 * `signal` aborts. Gives how far each had come then, in the order of the routes.
 */
export async function watchProbes(
  db: Queryable,
  probes: readonly PublishedProbe[],
  options: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<ProbeProgress[]> {
  const deadline = performance.now() + options.timeoutMs;
  const ids = probes.map(({ eventId }) => eventId);
  for (;;) {
    const rows = new Map((await readProbes(db, ids)).map((row) => [row.id, row]));
    const progress = probes.map((probe) => progressOf(probe, rows.get(probe.eventId)));
    const open = progress.filter(({ eventId, passed }) => !passed && !isOver(rows.get(eventId)));
    if (open.length === 0 || options.signal.aborted || performance.now() >= deadline) return progress;
    await delay(LOOK_EVERY_MS, undefined, { signal: options.signal }).catch(() => undefined);
  }
}

function progressOf(probe: PublishedProbe, row: ProbeRow | undefined): ProbeProgress {
  const done = (row?.receipts ?? []).filter(({ outcome }) => outcome === "done");
  const missing = probe.route.consumers.filter((name) => !done.some(({ consumer }) => consumer === name));
  const passed = row?.status === "DONE" && missing.length === 0;
  return { ...probe, passed, handOffMs: row?.handOffMs ?? null, receipts: done.map(({ consumer, ms }) => ({ consumer, ms })), missing };
}

/** A job that gave up does not run again by itself, and neither does an event that failed or that somebody cancelled. */
function isOver(row: ProbeRow | undefined): boolean {
  if (row === undefined) return true;
  return row.status === "FAILED" || row.status === "CANCELLED" || row.receipts.some(({ outcome }) => outcome === "dead");
}
