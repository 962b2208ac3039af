import { describe, expect, it } from "vitest";
import { createAddAll } from "./add-all.ts";
import { unreachableError } from "./classify-error.ts";
import type { BullEntry, BullQueue, QueueDriver } from "./driver.ts";
import { jobIdFor } from "./job-id.ts";
import type { NewJob } from "./port.ts";

interface Script {
  readonly bulk?: (entries: BullEntry[]) => Promise<unknown>;
  readonly single?: (id: string) => Promise<unknown>;
  readonly usable?: () => boolean;
}

/** Counts the requests that the algorithm makes; what servers do with them is the conformance suite's matter. */
function countingDriver(script: Script) {
  const calls = { bulks: [] as number[], singles: 0, atOnce: 0, most: 0, waits: 0 };
  const queue = {
    addBulk: async (entries: BullEntry[]) => {
      calls.bulks.push(entries.length);
      return script.bulk?.(entries);
    },
    add: async (_name: string, _data: unknown, opts: { jobId?: string }) => {
      calls.singles += 1;
      calls.most = Math.max(calls.most, (calls.atOnce += 1));
      try {
        await Promise.resolve();
        return await script.single?.(opts.jobId ?? "");
      } finally {
        calls.atOnce -= 1;
      }
    },
  } as unknown as BullQueue;
  const driver = {
    queue: () => queue,
    isUsable: script.usable ?? (() => true),
    untilUsable: async () => {
      calls.waits += 1;
      throw unreachableError("no server");
    },
  } as unknown as QueueDriver;
  return { calls, addAll: createAddAll(driver, { addTimeoutMs: 1000, addConcurrency: 10 }) };
}

const jobs = (count: number, queue: NewJob["queue"] = "outbox.audit"): NewJob[] =>
  Array.from({ length: count }, (_, n) => ({ queue, id: jobIdFor(`${queue}-${n}`), name: "t", data: { n } }));

describe("addAll", () => {
  it("makes one request per queue, and one more for each further thousand", async () => {
    const { calls, addAll } = countingDriver({});
    await addAll(jobs(500));
    expect(calls.bulks).toEqual([500]);
    calls.bulks.length = 0;
    await addAll([...jobs(250), ...jobs(250, "outbox.mail")]);
    expect(calls.bulks).toEqual([250, 250]);
    calls.bulks.length = 0;
    await addAll(jobs(2100));
    expect(calls.bulks).toEqual([1000, 1000, 100]);
    expect(calls.singles).toBe(0);
  });

  it("adds one by one, never more than ten at once, after a bulk that the server refused in part", async () => {
    const refused = Object.assign(new Error("WRONGTYPE Operation against a key"), { name: "ReplyError" });
    const { calls, addAll } = countingDriver({
      bulk: () => Promise.reject(refused),
      single: async (id) => (id.endsWith("-7") ? Promise.reject(refused) : undefined),
    });
    const results = await addAll(jobs(100));
    expect(results.flatMap((result, n) => (result.ok ? [] : [n]))).toEqual([7]);
    expect(calls).toMatchObject({ singles: 100, most: 10 });
  });

  it("tries nothing twice when the server takes no writes at all", async () => {
    const { calls, addAll } = countingDriver({
      bulk: () => Promise.reject(new Error("READONLY You can't write against a read only replica.")),
    });
    const results = await addAll(jobs(2500));
    expect(results.every((result) => !result.ok && (result.error as Error & { code: string }).code === "QUEUE.UNREACHABLE")).toBe(true);
    expect(calls).toMatchObject({ bulks: [1000], singles: 0 });
  });

  it("stops adding one by one as soon as the server is gone", async () => {
    const { calls, addAll } = countingDriver({
      bulk: () => Promise.reject(new Error("Connection is closed.")),
      single: () => Promise.reject(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" })),
    });
    const results = await addAll(jobs(500));
    expect(results.every((result) => !result.ok)).toBe(true);
    expect(calls.singles).toBeLessThanOrEqual(10);
  });

  it("sends nothing while there is no connection", async () => {
    const { calls, addAll } = countingDriver({ usable: () => false });
    const results = await addAll(jobs(50));
    expect(results.every((result) => !result.ok)).toBe(true);
    expect(calls).toMatchObject({ bulks: [], singles: 0, waits: 1 });
  });
});
