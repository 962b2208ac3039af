import type { Database } from "@toolctrl/db/client";
import { nativeGapsOf } from "@toolctrl/foundation/workflows";
import { loadDefinition } from "../definitions/load-definition.ts";
import type { ExecutionKey } from "../executions/execution.ts";
import { executionNotFound } from "../executions/lock-execution.ts";
import type { RunnerDeps } from "../runner/deps.ts";
import { runExecution } from "../runner/run-execution.ts";
import { createBridgeExecutor, type BridgeSettings } from "./bridge-executor.ts";
import type { Executor } from "./executor.ts";

export type ExecutorSettings = { readonly kind: "native" } | { readonly kind: "http" | "hybrid"; readonly bridge: BridgeSettings };

/**
 * The executor of a worker.
 * - `native` runs everything here. A step that needs a stored credential ends its run: there is none to be had here.
 * - `http` has the web app run everything, over the signed bridge.
 * - `hybrid` runs here what needs no credential, and has the web app run the rest.
 */
export function createExecutor(settings: ExecutorSettings, deps: Omit<RunnerDeps, "credentials">): Executor {
  // No credential is readable on this path, whatever the settings are.
  const native: Executor = { execute: (key, signal) => runExecution({ ...deps, credentials: null }, key, signal) };
  if (settings.kind === "native") return native;
  const bridge = createBridgeExecutor(settings.bridge);
  if (settings.kind === "http") return bridge;
  return {
    async execute(key, signal) {
      return (await needsCredential(deps.pool, key)) ? bridge.execute(key, signal) : native.execute(key, signal);
    },
  };
}

/** A run that waits for a person at this moment is no gap: whoever goes on with it crosses that. */
async function needsCredential(pool: Database["pool"], { tenantId, executionId }: ExecutionKey): Promise<boolean> {
  const { rows } = await pool.query<{ workflowId: string; version: number }>(
    `SELECT "workflowId"::text AS "workflowId", "version" FROM "WorkflowExecution" WHERE "id" = $1::uuid AND "tenantId" = $2`,
    [executionId, tenantId],
  );
  if (rows[0] === undefined) throw executionNotFound(executionId);
  const { definition } = await loadDefinition(pool, rows[0]);
  return nativeGapsOf(definition).some(({ reason }) => reason === "credential");
}
