import { describeError } from "@toolctrl/foundation/errors";
import { encodeStrictJson, type JsonObject } from "@toolctrl/foundation/json";
import { InvalidArgumentError, Option, type Command } from "commander";
import { OUTBOX_STATUSES, type OutboxStatus } from "@toolctrl/outbox-drainer/actions";

const UNITS_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Longer ago than anything was, and a moment that the database still knows. */
const LONGEST = "36500d";

/** `500ms`, `30s`, `5m`, `2h`, `1d` → ms. */
export function parseDurationMs(text: string): number {
  return durationUpTo(LONGEST, text);
}

function durationUpTo(longest: string, text: string): number {
  const ms = msOf(text);
  if (ms > msOf(longest)) throw new InvalidArgumentError(`expected a duration of at most ${longest}.`);
  return ms;
}

function msOf(text: string): number {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text);
  const unit = match?.[2] as keyof typeof UNITS_MS | undefined;
  if (match === null || unit === undefined) throw new InvalidArgumentError("expected a duration such as 500ms, 30s, 5m, 2h or 1d.");
  return Number(match[1]) * UNITS_MS[unit];
}

/** An option that takes a duration, and says its default as somebody would write it. */
export function durationOption(flags: string, description: string, fallback: string, longest = LONGEST): Option {
  return new Option(flags, description).argParser((text: string) => durationUpTo(longest, text)).default(msOf(fallback), fallback);
}

/** What --from and --to take: a moment, or how long ago (`2h`). The database's clock says what "ago" means. */
export type TimeOption = { readonly at: Date } | { readonly agoMs: number };

/** The moment a time option means, when it is `now` by the database's clock. */
export function momentOf(time: TimeOption, now: Date): Date {
  return "at" in time ? time.at : new Date(now.getTime() - time.agoMs);
}

const ISO = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:?\d{2}))?$/;

export function parseTime(text: string): TimeOption {
  if (/^\d+(?:ms|s|m|h|d)$/.test(text)) return { agoMs: parseDurationMs(text) };
  const at = new Date(text);
  // Without a zone the same text would mean another moment on another machine; a date alone is midnight UTC.
  if (!ISO.test(text) || Number.isNaN(at.getTime()) || !isOfCalendar(text.slice(0, 10))) {
    throw new InvalidArgumentError("expected a time such as 2026-11-30T09:00:00Z, a date, or how long ago, such as 2h.");
  }
  return { at };
}

/** A date makes 3 March of 31 February, which would widen what a bulk changes. */
function isOfCalendar(day: string): boolean {
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
}

/** `FAILED` or `failed,cancelled`; may be given several times. */
export function parseStatuses(text: string, before: OutboxStatus[] = []): OutboxStatus[] {
  const found = text.split(",").map((part) => {
    const status = OUTBOX_STATUSES.find((name) => name === part.trim().toUpperCase());
    if (status === undefined) throw new InvalidArgumentError(`expected ${OUTBOX_STATUSES.join(", ")}, got ${JSON.stringify(part)}.`);
    return status;
  });
  return [...new Set([...before, ...found])];
}

/** A whole number within bounds. */
export function integerOption(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) throw new InvalidArgumentError(`expected a whole number from ${min} to ${max}.`);
    return value;
  };
}

/** A text of bounded length that is not empty. */
export function textOption(max: number): (text: string) => string {
  return (text) => {
    if (text.trim() === "" || text.length > max || text.includes("\u0000"))
      throw new InvalidArgumentError(`expected 1 to ${max} characters.`);
    return text;
  };
}

/** The tenant that a command is about; it has to be named. */
export function tenantOption(command: Command): Command {
  return command.requiredOption("--tenant <id>", "tenant", textOption(200));
}

/** A JSON object that can be kept. */
export function parseJsonObject(text: string): JsonObject {
  const value = parseJson(text);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new InvalidArgumentError(`expected a JSON object such as {"answer": "yes"}.`);
  try {
    return encodeStrictJson(value).value as JsonObject;
  } catch (error) {
    throw new InvalidArgumentError(`${describeError(error, 300)}.`);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InvalidArgumentError(`expected a JSON object, got: ${describeError(error, 300)}.`);
  }
}
