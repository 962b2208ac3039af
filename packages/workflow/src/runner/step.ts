import type { JsonValue } from "@toolctrl/foundation/json";

/**
 * - `ready`: to be run. `retry`: the same, once it is due.
 * - `calling`: a call that cannot be taken back has left; `waiting`: a person is asked.
 * - `done`, `failed`, `skipped` (no way led to it), `cancelled`: ended.
 */
export type StepStatus = "ready" | "retry" | "calling" | "waiting" | "done" | "failed" | "skipped" | "cancelled";

/** One step of a run, in one turn of its loop and one epoch. */
export interface Step {
  readonly id: string;
  readonly nodeId: string;
  /** Which turn of the loop around it, from 0. */
  readonly iteration: number;
  /** The run's `retryEpoch` when it was made. */
  readonly retryEpoch: number;
  readonly status: StepStatus;
  /** Which branch it left by; null unless it is done. */
  readonly branch: string | null;
  /** What later steps see of it as `steps.<node>`. */
  readonly output: JsonValue;
  readonly attempts: number;
  /** Tries whose outcome was never known: the other side may have seen them. */
  readonly unknowns: number;
  /** ms until it is due, by the database's clock; 0 when it is. */
  readonly waitMs: number;
  /** The fence of its call; null unless it is calling. */
  readonly token: string | null;
  /** ms since its call began; null unless it is calling. */
  readonly callingForMs: number | null;
}

/** The columns of a {@link Step}, for SELECT and RETURNING. */
export const STEP_COLUMNS = `"id"::text AS "id", "nodeId", "iteration", "retryEpoch", "status", "branch", "output", "attempts", "unknowns", "token"::text AS "token",
  greatest(0, coalesce(extract(epoch FROM "dueAt" - clock_timestamp()) * 1000, 0))::float8 AS "waitMs",
  (extract(epoch FROM clock_timestamp() - "callingSince") * 1000)::float8 AS "callingForMs"`;

/** Not ended yet. */
export function isOpen({ status }: Pick<Step, "status">): boolean {
  return status === "ready" || status === "retry" || status === "calling" || status === "waiting";
}
