import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { Queryable } from "@toolctrl/db/sql";
import { databaseNow, OUTBOX_STATUSES } from "@toolctrl/outbox-drainer/actions";
import { listChanges, type EventChange } from "@toolctrl/outbox-drainer/stats";
import type { Command } from "commander";
import { watchInterrupt } from "../bulk/watch-interrupt.ts";
import type { Invocation, Registrar } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import { addFilterOptions, resolveFilter, type FilterOptions } from "../options/filter-options.ts";
import { durationOption } from "../options/parse-options.ts";
import { formatStatus, formatTime, shorten } from "../output/format-values.ts";
import { withDatabase } from "../resources.ts";

interface TailOptions extends FilterOptions {
  readonly interval: number;
}

/** Changes of each state at one look. */
const LIMIT = 5_000;
/** How far back each look goes: a change is seen when it is committed, which is later than it is written. */
const OVERLAP_MS = 3_000;

const AFTER_HELP = `
An event that changed twice between two looks is shown once, as it is now. --from shows what changed since then first, --to ends the command at that
time; else Ctrl-C does, with exit code 0. With --json each change is a document of its own, one on a line.

Examples:
  toolctrl-cli outbox tail --status FAILED,CANCELLED
  toolctrl-cli outbox tail --type mail --from 5m --json
`;

/** `outbox tail`: the changes of events as they happen. */
export function registerOutboxTail(parent: Command, registrar: Registrar): void {
  const command = addFilterOptions(parent.command("tail").description("the changes of the events that match, as they happen, until Ctrl-C"))
    .addOption(durationOption("--interval <duration>", "the pause between two looks", "500ms", "1d"))
    .addHelpText("after", AFTER_HELP);
  registrar.handle<TailOptions>(command, async (invocation) => {
    const interrupt = watchInterrupt();
    try {
      await withDatabase(invocation.io, ({ pool }) => follow(pool, invocation, interrupt.signal));
      return EXIT.ok;
    } finally {
      interrupt.stop();
    }
  });
}

async function follow(db: Queryable, { io, json, options }: Invocation<TailOptions>, signal: AbortSignal): Promise<void> {
  const { from, to, ...filter } = await resolveFilter(db, options, { statuses: OUTBOX_STATUSES, bounded: false });
  const start = from ?? (await databaseNow(db));
  const news = createNews();
  let since = start;
  while (!signal.aborted) {
    const now = await databaseNow(db);
    const changes = await listChanges(db, { filter, since, limit: LIMIT });
    if (changes.length >= LIMIT) io.err.write(`more than ${LIMIT} changes at once, the oldest are not shown: narrow the filter\n`);
    for (const change of news.of(changes)) await write(io, lineOf(io, json, change), signal);
    if (to !== undefined && now >= to) return;
    since = new Date(Math.max(start.getTime(), now.getTime() - OVERLAP_MS));
    news.forget(since);
    await delay(options.interval, undefined, { signal }).catch(() => undefined);
  }
}

/** Tells changes that were shown from those that were not: looks overlap. */
function createNews() {
  const shown = new Map<string, Date>();
  return {
    of(changes: readonly EventChange[]): EventChange[] {
      const fresh = changes.filter(({ id, exactly }) => !shown.has(`${id} ${exactly}`));
      for (const { id, exactly, at } of fresh) shown.set(`${id} ${exactly}`, at);
      return fresh;
    },
    /** Those from before `since` do not come up again. */
    forget(since: Date): void {
      for (const [key, at] of shown) if (at < since) shown.delete(key);
    },
  };
}

/** A reader that is slow is waited for, so that nothing piles up here. */
async function write(io: Io, line: string, signal: AbortSignal): Promise<void> {
  if (io.out.write(`${line}\n`)) return;
  await once(io.out, "drain", { signal }).catch(() => undefined);
}

function lineOf(io: Io, json: boolean, change: EventChange): string {
  const { exactly: _exactly, ...told } = change;
  if (json) return JSON.stringify(told);
  const status = formatStatus(io, told.status) + " ".repeat("PROCESSING".length - told.status.length);
  const error = told.lastErrorCode === null ? "" : `  ${shorten(told.lastErrorCode, 40)}`;
  return `${formatTime(told.at)}  ${status}  ${told.id}  ${told.eventType}  ${told.tenantId}  attempts ${told.attempts}, retries ${told.retries}${error}`;
}
