import type { OutboxStatus } from "@toolctrl/outbox-drainer/actions";
import type { Io } from "../io.ts";
import { paint } from "./table.ts";

/** ISO 8601 in UTC, or a dash. */
export function formatTime(time: Date | null): string {
  return time === null ? "-" : time.toISOString();
}

const STYLES = { PENDING: "yellow", PROCESSING: "cyan", DONE: "green", FAILED: "red", CANCELLED: "dim" } as const;

export function formatStatus(io: Io, status: OutboxStatus): string {
  return paint(io, STYLES[status], status);
}

/** Seconds as a person says them: `42s`, `3m 10s`, `2h 5m`, `4d 1h`. */
export function formatSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${whole % 60}s`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)}h ${Math.floor((whole % 3600) / 60)}m`;
  return `${Math.floor(whole / 86_400)}d ${Math.floor((whole % 86_400) / 3600)}h`;
}

/** At most `max` characters of one line. */
export function shorten(text: string | null, max: number): string {
  if (text === null) return "-";
  const line = text.replaceAll(/\s+/g, " ");
  return line.length <= max ? line : `${line.slice(0, max - 1)}…`;
}

/** `1 event`, `2 events`. */
export function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? "" : "s"}`;
}
