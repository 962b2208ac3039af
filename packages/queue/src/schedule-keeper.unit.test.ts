import { CodedError } from "@toolctrl/foundation/errors";
import { describe, expect, it, onTestFinished } from "vitest";
import { unreachableError } from "./classify-error.ts";
import { createScheduleKeeper } from "./schedule-keeper.ts";

const JOB = { schedulerId: "daily", name: "cleanup.run", data: {}, everyMs: 1000 };

function keeper(ensure: () => Promise<void>) {
  const reported: unknown[] = [];
  const schedules = createScheduleKeeper({ ensure, report: (error) => void reported.push(error), checkEveryMs: 1, retryAfterMs: 1 });
  onTestFinished(() => schedules.stop());
  return { schedules, reported };
}

describe("keeping schedules", () => {
  it("resolves while the server is away, and makes the schedule when it is there", async () => {
    const made = Promise.withResolvers<void>();
    let tries = 0;
    const { schedules, reported } = keeper(async () => {
      tries += 1;
      if (tries < 3) throw unreachableError("no server");
      made.resolve();
    });
    await schedules.keep("toolctrl.maintenance", JOB);
    await made.promise;
    expect(reported).toHaveLength(2);
  });

  it("checks a schedule again and again", async () => {
    const third = Promise.withResolvers<void>();
    let checks = 0;
    const { schedules } = keeper(async () => {
      checks += 1;
      if (checks === 3) third.resolve();
    });
    await schedules.keep("toolctrl.maintenance", JOB);
    await third.promise;
    expect(checks).toBeGreaterThanOrEqual(3);
  });

  it("rejects for a schedule that can never work", async () => {
    const { schedules } = keeper(() => Promise.reject(new CodedError("QUEUE.SETTING", "expected a pattern, got none")));
    await expect(schedules.keep("toolctrl.maintenance", JOB)).rejects.toMatchObject({ code: "QUEUE.SETTING" });
  });
});
