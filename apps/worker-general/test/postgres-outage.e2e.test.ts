import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { endInOrder, statuses } from "./observe.ts";
import { openRig, startOwnPostgres } from "./rig.ts";
import { compareEffects, startTraffic, untilReceipts } from "./traffic.ts";
import { watchHealth } from "./watch-health.ts";

test.each(["redis", "postgres"] as const)(
  "PostgreSQL restarted in the middle of traffic, with the queue on %s: nothing is lost, readiness tells, and both workers go on",
  async (kind) => {
    const server = await startOwnPostgres();
    const rig = await openRig({ kind, databaseUrl: server.url });
    const workers = await Promise.all([rig.start("general"), rig.start("mail")]);
    const watches = workers.map(watchHealth);
    const traffic = startTraffic(rig, "r", 30);
    await waitFor(() => rig.smtp.mails.length >= 5 && rig.http.requests.length >= 5, { timeoutMs: 20_000, what: "the first effects" });
    await server.stop();
    await waitFor(() => watches.every(({ readiness }) => readiness.at(-1) === 503), { what: "readiness to tell" });
    const before = traffic.rounds.length;
    await server.restart();
    await waitFor(() => watches.every(({ readiness }) => readiness.at(-1) === 200), { timeoutMs: 20_000, what: "readiness" });
    await waitFor(() => traffic.rounds.length >= before + 5, { timeoutMs: 20_000, what: "rounds after the restart" });
    const rounds = await traffic.stop();
    await untilReceipts(rig, rounds);
    expect(watches.map(({ readiness }) => readiness)).toEqual([
      [200, 503, 200],
      [200, 503, 200],
    ]);
    expect(watches.map((watch) => watch.liveness())).toEqual([[200], [200]]);
    // A mail or webhook whose answer could not be written down is repeated under its id, and recorded.
    expect(await compareEffects(rig, rounds)).toMatchObject({ missing: [], doubled: [] });
    expect(await statuses(rig)).toEqual({ DONE: 4 * rounds.length, retried: 0 });
    await endInOrder(workers);
  },
  90_000,
);
