import { choice, databaseEnv, loadEnv, processEnv, queueEnv } from "@toolctrl/runtime/env";
import { z } from "zod";

const LOG_LEVEL = choice({
  values: ["trace", "debug", "info", "warn", "error", "fatal", "silent"],
  fallback: "warn",
  about: "Least level that is logged, on the error output",
});

/** What every command needs. */
export const cliEnv = z.object({ ...databaseEnv, LOG_LEVEL });
/** What the commands need that look into the queue. */
export const cliQueueEnv = z.object({ ...databaseEnv, ...queueEnv, NODE_ENV: processEnv.NODE_ENV, LOG_LEVEL });

export type CliEnv = z.output<typeof cliEnv>;
export type CliQueueEnv = z.output<typeof cliQueueEnv>;

type Source = Readonly<Record<string, string | undefined>>;

/** @throws CodedError `ENV.INVALID` listing every problem at once. */
export function readCliEnv(source: Source = process.env): CliEnv {
  return loadEnv(cliEnv, source);
}

/** @throws CodedError `ENV.INVALID` listing every problem at once. */
export function readCliQueueEnv(source: Source = process.env): CliQueueEnv {
  return loadEnv(cliQueueEnv, source);
}
