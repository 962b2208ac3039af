import type { EXECUTION_STATUSES } from "@toolctrl/foundation/workflows";
import type { JsonObject } from "@toolctrl/foundation/json";

export type ExecutionStatus = (typeof EXECUTION_STATUSES)[number];

/** What started a run. */
export type StartedBy = "person" | "api" | "stream" | "row" | "form" | "event";

export interface ExecutionKey {
  readonly tenantId: string;
  readonly executionId: string;
}

/** What leads to a run, or to a change of one. */
export interface RunCause {
  /** How many events did. Default: what the transaction says of it (`withEventCause`), else 0: a person's own doing. */
  readonly depth?: number | undefined;
}

/** A run of one version of a workflow. */
export interface Execution {
  readonly id: string;
  readonly tenantId: string;
  readonly workflowId: string;
  /** The version it started with, and keeps. */
  readonly version: number;
  readonly status: ExecutionStatus;
  readonly startedBy: StartedBy;
  /** The event that started it; null when a person did. */
  readonly triggerEventId: string | null;
  /** What it was started with: `trigger` in expressions and templates. */
  readonly input: JsonObject;
  /** How often it was told to repeat from a step. */
  readonly retryEpoch: number;
  /** How many events led to it. */
  readonly depth: number;
  readonly correlationId: string | null;
  /** Why it ended as it did; null while it runs and after a success. */
  readonly reasonCode: string | null;
  readonly reason: string | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

/** The columns of an {@link Execution}, for SELECT and RETURNING. */
export const EXECUTION_COLUMNS = `"id"::text AS "id", "tenantId", "workflowId"::text AS "workflowId", "version", "status", "startedBy",
  "triggerEventId"::text AS "triggerEventId", "input", "retryEpoch", "depth", "correlationId", "reasonCode", "reason", "createdAt", "startedAt", "finishedAt"`;
