/** Runs runs, step by step. */
export type { CredentialSource, RunnerDeps } from "./runner/deps.ts";
export { runExecution, type RunEnd, type RunOptions } from "./runner/run-execution.ts";
