import { isCodedError } from "@toolctrl/foundation/errors";
import type { QueueName } from "@toolctrl/foundation/queues";
import type { ErrorReporter } from "./log.ts";
import type { ScheduledJob } from "./schedule-job.ts";

export interface ScheduleKeeper {
  /**
   * Makes the schedule exist, and makes it again whenever it is gone: a flushed Redis forgets its schedules too.
   * While the server is away it resolves all the same, and the schedule is made when the server is there.
   */
  keep(queue: QueueName, job: ScheduledJob): Promise<void>;
  stop(): void;
}

export interface ScheduleKeeperDeps {
  readonly ensure: (queue: QueueName, job: ScheduledJob) => Promise<void>;
  readonly report: ErrorReporter;
  readonly checkEveryMs?: number;
  readonly retryAfterMs?: number;
}

export function createScheduleKeeper(deps: ScheduleKeeperDeps): ScheduleKeeper {
  const { ensure, report, retryAfterMs = 5000 } = deps;
  let { checkEveryMs = 60_000 } = deps;
  const kept = new Map<string, () => Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const checkIn = (ms: number): void => {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(() => void check(), ms).unref();
  };
  const check = async (): Promise<void> => {
    let nextMs = checkEveryMs;
    for (const again of kept.values()) {
      await again().catch((error: unknown) => {
        nextMs = retryAfterMs;
        report(error);
      });
    }
    checkIn(nextMs);
  };
  return {
    async keep(queue, job) {
      // A schedule that is gone is missed after one of its turns, not later.
      checkEveryMs = Math.min(checkEveryMs, job.everyMs ?? checkEveryMs);
      let nextMs = checkEveryMs;
      try {
        await ensure(queue, job);
      } catch (error) {
        if (!isCodedError(error) || !error.retry) throw error;
        nextMs = retryAfterMs;
        report(error);
      }
      kept.set(`${queue} ${job.schedulerId}`, () => ensure(queue, job));
      checkIn(nextMs);
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
      kept.clear();
    },
  };
}
