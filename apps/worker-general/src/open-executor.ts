import type { Database } from "@toolctrl/db/client";
import type { GuardedHttp } from "@toolctrl/runtime/guarded-http";
import type { Logger } from "@toolctrl/runtime/logger";
import { createExecutor, type Executor } from "@toolctrl/workflow/executors";
import { createTriggerStore, type TriggerStore } from "@toolctrl/workflow/triggers";
import type { WorkerGeneralEnv } from "./env.ts";

/** Who runs workflows, as the environment says, and what candidates are judged by for him. */
export function openExecutor(
  env: WorkerGeneralEnv,
  deps: { readonly pool: Database["pool"]; readonly http: Pick<GuardedHttp, "request">; readonly log: Logger },
): { readonly triggers: TriggerStore; readonly executor: Executor } {
  const kind = env.WORKFLOW_EXECUTOR ?? "native";
  const triggers = createTriggerStore(kind);
  if (kind === "native") return { triggers, executor: createExecutor({ kind }, deps) };
  const bridge = {
    url: env.WORKFLOW_BRIDGE_URL ?? "",
    secret: env.WORKFLOW_BRIDGE_SECRET ?? "",
    deadlineMs: env.WORKFLOW_BRIDGE_DEADLINE_MS,
  };
  return { triggers, executor: createExecutor({ kind, bridge }, deps) };
}
