import { CodedError } from "@toolctrl/foundation/errors";
import type { Metrics } from "@toolctrl/runtime/metrics";
import type { ExecutionView, WorkflowsExecutionsService } from "@toolctrl/workflow/executions";
import type { RunsHere } from "./runs-here.ts";

export interface Streams {
  /**
   * Starts a run and executes it here; resolves when nothing more is done of it in this process.
   * @throws CodedError `API.TOO_MANY_STREAMS`, `API.UNAVAILABLE` while the process ends, and what starting a run throws
   */
  start(request: StreamRequest, onView: (view: ExecutionView) => Promise<void>): Promise<void>;
}

type StreamRequest = Parameters<WorkflowsExecutionsService["stream"]>[0];

export interface StreamLimits {
  readonly max: number;
  readonly maxSeconds: number;
}

/** The streamed runs of this process, within their limits. */
export function createStreams(
  { max, maxSeconds }: StreamLimits,
  deps: { readonly service: Pick<WorkflowsExecutionsService, "stream">; readonly runs: RunsHere; readonly metrics: Metrics },
): Streams {
  const { service, runs, metrics } = deps;
  let open = 0;
  const count = (change: 1 | -1): void => {
    open += change;
    metrics.set("web_streams", open);
  };
  return {
    async start(request, onView) {
      if (runs.stopping.aborted) throw new CodedError("API.UNAVAILABLE", "expected a process that goes on, got one that is to end");
      if (open >= max) {
        throw new CodedError("API.TOO_MANY_STREAMS", `expected fewer than ${max} streams in this process, got ${open}`, {
          facts: { limit: max },
        });
      }
      count(1);
      const limit = limitOf(maxSeconds);
      try {
        const signals = { stopping: AbortSignal.any([runs.stopping, limit.signal]), ending: runs.ending };
        await runs.track(service.stream(request, onView, signals));
      } finally {
        limit.clear();
        count(-1);
      }
    },
  };
}

function limitOf(seconds: number): { readonly signal: AbortSignal; clear(): void } {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new Error(`a stream lasts ${seconds} s at most`)), seconds * 1000);
  return { signal: controller.signal, clear: () => clearTimeout(timer) };
}
