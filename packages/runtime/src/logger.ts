import { activeTraceIds } from "@toolctrl/tracing/spans";
import { pino, stdSerializers, type DestinationStream, type Logger as PinoLogger } from "pino";

export type Logger = PinoLogger;

// Fields that have carried secrets into logs elsewhere. Payloads are never logged at all.
const SECRET_FIELDS = ["password", "secret", "authorization", "dsn", "databaseUrl", "redisUrl"];

/**
 * One JSON line per message: `time` in ISO 8601, `level` as a word, `app`. Errors go under `err`, with code, fix and facts when coded.
 * Inside a span, its ids go with each line (`trace_id`, `span_id`).
 * Writes are synchronous, so that a line before an exit is not lost.
 */
export function createLogger(options: { app: string; level: string; destination?: DestinationStream }): Logger {
  const settings = {
    level: options.level,
    base: { app: options.app, pid: process.pid },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: serializeError },
    mixin: activeTraceIds,
    redact: { paths: SECRET_FIELDS.flatMap((name) => [name, `*.${name}`]), censor: "[redacted]" },
  };
  return options.destination === undefined ? pino(settings) : pino(settings, options.destination);
}

/** What an error may put in the log. Drivers hang more on theirs: PostgreSQL's `detail` and Prisma's `meta` quote the row. */
const ERROR_FIELDS = ["code", "fix", "retry", "facts", "constraint", "table", "syscall", "address", "port", "responseCode"];

function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { type, message, stack } = stdSerializers.err(error);
  const known = Object.entries(error).filter(([name]) => ERROR_FIELDS.includes(name));
  return { type, message, stack, ...Object.fromEntries(known) };
}
