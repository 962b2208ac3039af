import { waitFor } from "@toolctrl/testkit/wait";
import { isServing } from "../app-process.ts";
import { isIdle, receiptsOf, runConsumers, type Installation } from "../installation.ts";
import type { Subject } from "../subject.ts";
import type { Runner } from "./runner.ts";

/** A consumer of a queue: deliveries are jobs. */
export function createConsumerRunner(subject: Subject): Runner {
  const { name, queue } = subject;
  const appOf = ({ claimTtlMs }: Installation) => subject.app(claimTtlMs);
  return {
    main: subject.app(30_000).main,
    needsOwnDatabase: false,
    prepare: () => Promise.resolve(),
    env: (installation) => ({ ...installation.appEnv, ...appOf(installation).env }),
    isServing: (installation) => isServing(installation, appOf(installation)),
    deliver: (installation, eventId, generation) => subject.add(installation, eventId, generation),
    async deliverForgotten(installation, eventId) {
      await installation.backend.obliterate(queue);
      return subject.add(installation, eventId, 0);
    },
    whileRunning: (installation, work) => whileRunning(installation, subject, work),
    async untilEnded({ backend }, jobs) {
      for (const job of jobs) {
        const hasEnded = async (): Promise<boolean> => ["completed", "failed"].includes((await backend.find(queue, job))?.state ?? "");
        await waitFor(hasEnded, { what: `${job} to end`, timeoutMs: 30_000 });
      }
    },
    isFinished: async (installation, eventId) =>
      (await receiptsOf(installation, eventId)).includes(`${name} done`) && (await isIdle(installation, [queue])),
    async attemptsOf({ backend }, jobs) {
      const views = await Promise.all(jobs.map((job) => backend.find(queue, job)));
      return views.reduce((total, view) => total + (view?.failures ?? 0), 0);
    },
    async suppressedOf({ metrics }) {
      const line = `outbox_duplicates_suppressed_total{consumer="${name}"} `;
      const counted = (await metrics.text()).split("\n").find((each) => each.startsWith(line));
      return Number(counted?.slice(line.length) ?? 0);
    },
  };
}

async function whileRunning<T>(installation: Installation, subject: Subject, work: () => Promise<T>): Promise<T> {
  const { consumers, close } = subject.consumers(installation);
  // One at a time in a process are two at once in two of them.
  const own = consumers
    .filter(({ name }) => name === subject.name)
    .map((consumer) => ({ ...consumer, concurrency: Math.max(2, consumer.concurrency) }));
  if (own.length !== 1) throw new Error(`expected its app to have one consumer ${subject.name}, got ${own.length}`);
  const running = runConsumers(installation, own);
  try {
    return await work();
  } finally {
    await running.close(2000);
    await close?.();
  }
}
