import { databaseEnv, loadEnv, outboundEnv, outboxEnv, processEnv } from "@toolctrl/runtime/env";
import { z } from "zod";
import { WEB_RULES, webFields } from "./web-env.ts";

const { OUTBOX_WAKEUP } = outboxEnv;

/** What the web app reads from its environment; docs/reference/env.md lists it. */
export const webEnv = z.object({ ...processEnv, ...databaseEnv, OUTBOX_WAKEUP, ...outboundEnv, ...webFields });

export type WebEnv = z.output<typeof webEnv>;

/** @throws CodedError `ENV.INVALID` listing every problem at once. */
export function readEnv(source: Readonly<Record<string, string | undefined>> = process.env): WebEnv {
  return loadEnv(webEnv, source, WEB_RULES);
}
