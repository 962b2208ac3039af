import { resolve } from "node:path";
import { parseArgs } from "node:util";

export interface StackOptions {
  /** End when all sample traffic has had its effect. */
  readonly once: boolean;
  /** Which drainer moves the events; unset leaves it to OUTBOX_PULL_WORKER. */
  readonly mode: "batch" | "pull" | undefined;
  /** Print one JSON document on stdout and nothing else there. */
  readonly json: boolean;
  /** Business transactions of the sample traffic. */
  readonly transactions: number;
  /** Seconds after which missing effects are given up on. */
  readonly deadlineSeconds: number;
  /** Where servers keep their data and workers their logs. */
  readonly dataDir: string;
}

export const USAGE = `npm start [-- --once] [--json] [--mode batch] [--transactions 200] [--deadline 180] [--data .data]

  --once           end when all sample traffic has had its effect; non-zero when one is missing or doubled
  --json           print one JSON summary on stdout, progress on stderr
  --mode           which drainer moves the events: batch (the default) or pull
  --transactions   business transactions of the sample traffic
  --deadline       seconds to wait for the effects
  --data           where servers keep their data and workers their logs

  OUTBOX_PULL_WORKER=true npm start means --mode pull.
  DATABASE_URL, REDIS_URL and QUEUE_BACKEND are used when they are set; otherwise private servers start under .data/.`;

/** @throws TypeError on an unknown flag or a value that is no number. */
export function parseOptions(args: string[]): StackOptions | "help" {
  const { values } = parseArgs({
    args: args.filter((arg) => arg !== "--"),
    options: {
      once: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      mode: { type: "string" },
      transactions: { type: "string", default: "200" },
      deadline: { type: "string", default: "180" },
      data: { type: "string", default: ".data" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return "help";
  return {
    once: values.once,
    json: values.json,
    mode: modeOf(values.mode),
    transactions: positive("--transactions", values.transactions),
    deadlineSeconds: positive("--deadline", values.deadline),
    dataDir: resolve(values.data),
  };
}

function modeOf(value: string | undefined): StackOptions["mode"] {
  if (value === undefined || value === "batch" || value === "pull") return value;
  throw new TypeError(`expected --mode to be batch or pull, got ${value}`);
}

function positive(flag: string, value: string): number {
  const number = Number(value);
  if (!Number.isInteger(number) || number < 1) throw new TypeError(`expected ${flag} to be a whole number above 0, got ${value}`);
  return number;
}
