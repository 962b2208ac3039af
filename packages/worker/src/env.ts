import { databaseEnv, outboundEnv, outboxEnv, processEnv, queueEnv, receiverEnv } from "@toolctrl/runtime/env";
import { z } from "zod";

/** What every worker app reads from its environment; an app spreads it and adds its own. */
export const workerShape = { ...processEnv, ...databaseEnv, ...queueEnv, ...outboxEnv, ...receiverEnv, ...outboundEnv };

const schema = z.object(workerShape);

export type WorkerEnv = z.output<typeof schema>;
