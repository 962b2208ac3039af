import { transaction, type Database } from "@toolctrl/db/client";
import { describeError } from "@toolctrl/foundation/errors";
import type { ExecutorKind } from "../executors/executor.ts";
import type { RunnerDeps } from "../runner/deps.ts";
import { runExecution, type RunEnd } from "../runner/run-execution.ts";
import { cancelExecution } from "./cancel-execution.ts";
import type { Execution, ExecutionKey, RunCause } from "./execution.ts";
import { readExecution, type ExecutionView, type InputView } from "./read-execution.ts";
import { retryFrom } from "./retry-from.ts";
import { startRun, type RunRequest } from "./start-run.ts";
import { holdStream, releaseStream, renewStream, STREAM_LEASE_MS, stopStream } from "./stream-run.ts";
import { submitInput, type Submission } from "./submit-input.ts";

/** Without a key of the caller's: a run that is there already may be at work elsewhere. */
export type StreamRequest = Omit<RunRequest, "startedBy" | "requestKey">;

/** When a streamed run ends before its last step: in `error`, with the reason of the signal. */
export interface StreamSignals {
  /** Between two steps. */
  readonly stopping: AbortSignal;
  /** In the middle of a call, too: what came of it is then unknown. */
  readonly ending: AbortSignal;
}

/**
 * What a product does with runs. Each call is one transaction of its own; none but `stream` executes anything in this process. Asked for as deep as
 * loops are stopped, a start is recorded as `rejected`, and every change of a run refused with `WORKFLOW.LOOP_STOPPED`.
 */
export interface WorkflowsExecutionsService {
  /** Has a run be started. @throws CodedError `WORKFLOW.NOT_FOUND`, `WORKFLOW.NOT_LIVE`, `WORKFLOW.INPUT_INVALID` */
  run(request: RunRequest & { readonly startedBy: "person" | "api" }): Promise<{ execution: Execution; duplicate: boolean }>;
  /** Answers a question. @throws CodedError `WORKFLOW.NOT_FOUND`, `WORKFLOW.INPUT_INVALID`, `WORKFLOW.INPUT_ANSWERED`, `WORKFLOW.INPUT_EXPIRED` */
  continue(submission: Submission): Promise<InputView>;
  /**
   * Starts a run and executes it in this process, telling `onView` of the run after each step: the one run that is not durable. Once it waits for
   * a person a worker goes on with it. When this process ends in the middle, the run ends too, as soon as its lease is over: `WORKFLOW.STREAM_LOST`.
   * @throws CodedError what `run` throws, before the first view
   */
  stream(request: StreamRequest, onView: (view: ExecutionView) => Promise<void>, signals: StreamSignals): Promise<RunEnd>;
  /** @throws CodedError `WORKFLOW.NOT_FOUND`, `WORKFLOW.STATE` */
  cancel(key: ExecutionKey & RunCause): Promise<void>;
  /** @throws CodedError `WORKFLOW.NOT_FOUND`, `WORKFLOW.STATE`, `WORKFLOW.ARGUMENT` */
  retryFrom(key: ExecutionKey & RunCause & { readonly nodeId: string }): Promise<{ retryEpoch: number; repeated: number }>;
}

const RENEW_MS = STREAM_LEASE_MS / 3;

/**
 * @param options.executor what the installation's workers run with: a run that they could not do is rejected at once
 * @param options.runner for `stream`; null in a process that streams nothing
 */
export function createExecutionsService(options: {
  readonly pool: Database["pool"];
  readonly executor: ExecutorKind;
  readonly runner: RunnerDeps | null;
}): WorkflowsExecutionsService {
  const { pool, executor, runner } = options;
  return {
    run: (request) => transaction(pool, (tx) => startRun(tx, request, executor)),
    continue: (submission) => transaction(pool, (tx) => submitInput(tx, submission)),
    cancel: (key) => transaction(pool, (tx) => cancelExecution(tx, key)),
    retryFrom: (key) => transaction(pool, (tx) => retryFrom(tx, key)),
    async stream(request, onView, { stopping, ending }) {
      if (runner === null) throw new TypeError("expected a process that streams runs, got one without a runner");
      const key = await transaction(pool, async (tx) => {
        const { execution } = await startRun(tx, { ...request, startedBy: "stream" }, "http");
        const started = { tenantId: execution.tenantId, executionId: execution.id };
        await holdStream(tx, started);
        return started;
      });
      const tell = async (): Promise<void> => onView(await readExecution(pool, key));
      await tell();
      const renewing = setInterval(
        () => void renewStream(pool, key).catch((err: unknown) => runner.log.warn({ ...key, err }, "lease not renewed")),
        RENEW_MS,
      );
      const end = await runExecution(runner, key, ending, { onStep: tell, stopping }).finally(() => clearInterval(renewing));
      if (end.kind === "interrupted") await stopStream(pool, key, describeError((stopping.aborted ? stopping : ending).reason));
      else await releaseStream(pool, key);
      await tell();
      return end;
    },
  };
}
