import { waitFor } from "@toolctrl/testkit/wait";
import { runConsumers, type Installation } from "../installation.ts";
import type { Subject } from "../subject.ts";

/** Runs the one consumer in this process, while `work` lasts. */
export async function withSubject<T>(installation: Installation, subject: Subject, work: () => Promise<T>): Promise<T> {
  const { consumers, close } = subject.consumers(installation);
  const own = consumers.filter(({ name }) => name === subject.name);
  if (own.length !== 1) throw new Error(`expected its app to have one consumer ${subject.name}, got ${own.length}`);
  const running = runConsumers(installation, own);
  try {
    return await work();
  } finally {
    await running.close(2000);
    await close?.();
  }
}

/** Waits until jobs have ended, one way or the other. */
export async function untilEnded({ backend }: Installation, { queue }: Subject, jobs: readonly string[]): Promise<void> {
  for (const job of jobs) {
    await waitFor(async () => ["completed", "failed"].includes((await backend.find(queue, job))?.state ?? ""), {
      what: `${job} to end`,
      timeoutMs: 30_000,
    });
  }
}
