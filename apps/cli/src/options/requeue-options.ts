import { ROUTES } from "@toolctrl/event-router/router";
import { CodedError } from "@toolctrl/foundation/errors";
import type { ActionOptions } from "./action-options.ts";
import type { FilterOptions } from "./filter-options.ts";

export interface RequeueOptions extends FilterOptions, ActionOptions {
  readonly jitter?: number;
  readonly replay?: boolean;
  readonly consumer?: string;
}

const MAX_JITTER_MS = 3_600_000;
const JITTER_MS_PER_EVENT = 20;
const MAX_DEFAULT_JITTER_MS = 60_000;

/**
 * The consumer whose effect is to be repeated, or null for a plain requeue.
 * @throws CodedError `CLI.ARGUMENT`
 */
export function replayConsumerOf(options: RequeueOptions): string | null {
  const { replay = false, consumer } = options;
  if (!replay && consumer === undefined) return null;
  if (!replay) throw new CodedError("CLI.ARGUMENT", "expected --replay together with --consumer, got --consumer alone");
  const known = [...new Set<string>(ROUTES.flatMap((route) => route.consumers))].sort();
  if (consumer === undefined)
    throw new CodedError("CLI.ARGUMENT", `expected --consumer together with --replay (${known.join(", ")}), got --replay alone`);
  if (!known.includes(consumer))
    throw new CodedError("CLI.ARGUMENT", `expected --consumer to be one of ${known.join(", ")}, got ${consumer}`);
  return consumer;
}

/**
 * The window over which events become due, ms: a bulk that arrives at once would be a second incident.
 * @throws CodedError `CLI.ARGUMENT`
 */
export function jitterMsOf(options: RequeueOptions, events: number): number {
  if (options.jitter === undefined) return Math.min(events * JITTER_MS_PER_EVENT, MAX_DEFAULT_JITTER_MS);
  if (options.jitter > MAX_JITTER_MS) throw new CodedError("CLI.ARGUMENT", `expected --jitter of at most 1h, got ${options.jitter} ms`);
  return options.jitter;
}
