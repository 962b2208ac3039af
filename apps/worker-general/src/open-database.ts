import { createDatabase, type Database } from "@toolctrl/db/client";
import type { Logger } from "@toolctrl/runtime/logger";
import type { WorkerGeneralEnv } from "./env.ts";

/** The one pool of this process. */
export function openDatabase(env: WorkerGeneralEnv, app: string, log: Logger): Promise<Database> {
  return createDatabase({
    url: env.DATABASE_URL,
    ...(env.DATABASE_DIRECT_URL === undefined ? {} : { directUrl: env.DATABASE_DIRECT_URL }),
    poolMax: env.DATABASE_POOL_MAX,
    app,
    wakeup: env.OUTBOX_WAKEUP,
    log,
  });
}
