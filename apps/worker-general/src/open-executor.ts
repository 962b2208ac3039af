import type { Database } from "@toolctrl/db/client";
import type { GuardedHttp } from "@toolctrl/runtime/guarded-http";
import type { Logger } from "@toolctrl/runtime/logger";
import { createExecutor, type Executor, type ExecutorKind } from "@toolctrl/workflow/executors";
import type { WorkerGeneralEnv } from "./env.ts";

/** Who runs workflows, by name, as the environment says. */
export function openExecutor(
  env: WorkerGeneralEnv,
  deps: { readonly pool: Database["pool"]; readonly http: Pick<GuardedHttp, "request">; readonly log: Logger },
): { readonly kind: ExecutorKind; readonly executor: Executor } {
  const kind = env.WORKFLOW_EXECUTOR ?? "native";
  if (kind === "native") return { kind, executor: createExecutor({ kind }, deps) };
  const bridge = {
    url: env.WORKFLOW_BRIDGE_URL ?? "",
    secret: env.WORKFLOW_BRIDGE_SECRET ?? "",
    deadlineMs: env.WORKFLOW_BRIDGE_DEADLINE_MS,
  };
  return { kind, executor: createExecutor({ kind, bridge }, deps) };
}
