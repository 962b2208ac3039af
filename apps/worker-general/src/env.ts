import { loadEnv, workerEnv } from "@toolctrl/runtime/env";
import { workerShape } from "@toolctrl/worker/env";
import { RETRY_HORIZON_RULE } from "@toolctrl/worker/settings";
import { z } from "zod";
import { PLUGIN_RULES, pluginEnv } from "./plugin-env.ts";
import { RAG_RULES, ragEnv } from "./rag-env.ts";
import { WORKFLOW_RULES, workflowEnv } from "./workflow-env.ts";

/** What worker-general reads from its environment; docs/reference/env.md lists it. */
export const workerGeneralEnv = z.object({ ...workerShape, ...workerEnv("general"), ...ragEnv, ...pluginEnv, ...workflowEnv });

export type WorkerGeneralEnv = z.output<typeof workerGeneralEnv>;

/** @throws CodedError `ENV.INVALID` listing every problem at once. */
export function readEnv(source: Readonly<Record<string, string | undefined>> = process.env): WorkerGeneralEnv {
  return loadEnv(workerGeneralEnv, source, [RETRY_HORIZON_RULE, ...RAG_RULES, ...PLUGIN_RULES, ...WORKFLOW_RULES]);
}
