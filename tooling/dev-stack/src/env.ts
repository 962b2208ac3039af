import { loadEnv, optionalChoice, optionalUrl, outboxEnv, queueEnv } from "@toolctrl/runtime/env";
import { z } from "zod";

/** What `npm start` reads; docs/reference/env.md lists it. */
export const stackEnv = z.object({
  DATABASE_URL: optionalUrl({ protocols: ["postgres:", "postgresql:"], about: "The database to use instead of an embedded one" }),
  REDIS_URL: optionalUrl({ protocols: ["redis:", "rediss:"], about: "The Redis to use instead of a private one" }),
  QUEUE_BACKEND: optionalChoice({
    values: ["redis", "postgres"],
    about: "The queue backend; unset means Redis where there is one, else PostgreSQL",
  }),
  QUEUE_PREFIX: queueEnv.QUEUE_PREFIX,
  OUTBOX_PULL_WORKER: outboxEnv.OUTBOX_PULL_WORKER,
});

export type StackEnv = z.infer<typeof stackEnv>;

/** The servers the person brought along. */
export const readStackEnv = (): StackEnv => loadEnv(stackEnv);

/** What the workers inherit: the person's own settings, such as OUTBOX_DISPATCH_BATCH_SIZE. */
export const inheritedEnv = (): NodeJS.ProcessEnv => process.env;
