import type { JobOutcome } from "@toolctrl/queue/port";
import { spawnNode } from "@toolctrl/testkit/process";
import { startTcpProxy } from "@toolctrl/testkit/tcp-proxy";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { createHarness, newEventId, openStore, untilJob } from "./harness.ts";

const done = (result?: unknown): JobOutcome => ({ kind: "done", result });

test("while the claim store is away no handler runs; when it is back the delivery goes through", async () => {
  const harness = await createHarness({ attempts: 50, backoffMs: 5 });
  const redisPort = Number(new URL(harness.namespace.url).port);
  const proxy = await startTcpProxy({ toPort: redisPort });
  let calls = 0;
  await proxy.refuse();
  harness.start(
    {
      async handle() {
        calls += 1;
        return done();
      },
    },
    { store: openStore(`redis://127.0.0.1:${proxy.port}`) },
  );
  const id = newEventId();
  await harness.add({ outboxEventId: id });
  await waitFor(async () => ((await harness.jobState(id))?.failures ?? 0) > 0);
  expect(calls).toBe(0);
  await proxy.resume();
  await untilJob(harness, id, "completed");
  expect(calls).toBe(1);
  await proxy.close();
});

test("a process killed inside its handler: the next delivery runs it, no attempt is used on waiting, and the effect is there once", async () => {
  const harness = await createHarness({ lockMs: 1000, stalledCheckMs: 300, attempts: 3 });
  const id = newEventId();
  const child = spawnNode(new URL("hang-in-handler.ts", import.meta.url), {
    env: {
      REDIS_URL: harness.namespace.url,
      PREFIX: harness.namespace.prefix,
      DATABASE_URL: harness.database.pool.options.connectionString,
    },
  });
  await child.waitForLine(/^ready$/);
  await harness.add({ outboxEventId: id });
  await child.waitForLine(/^in the handler$/);
  child.kill("SIGKILL");
  await child.waitForExit();
  const failures: number[] = [];
  harness.start(
    {
      async handle(delivery) {
        failures.push(delivery.failures);
        return done();
      },
    },
    { claimTtlMs: 1000 },
  );
  await untilJob(harness, id, "completed");
  expect(failures).toEqual([0]);
});
