/** Who runs a run: this process, or the web app over the signed bridge. */
export { bridgeAnswerSchema, BRIDGE_PATH, bridgeRequestSchema, type BridgeSettings } from "./executors/bridge-executor.ts";
export { createExecutor, type ExecutorSettings } from "./executors/create-executor.ts";
export type { Executor, ExecutorKind } from "./executors/executor.ts";
export { verifyBridgeRequest, type BridgeRequest } from "./executors/verify-bridge-request.ts";
