import { afterSaveEffects } from "@toolctrl/domain/after-save-effects";
import { ROUTES } from "@toolctrl/event-router/router";
import { CONSUMERS } from "@toolctrl/foundation/consumers";
import { QUEUE_NAMES } from "@toolctrl/foundation/queues";
import { listLiveProcesses } from "@toolctrl/outbox-drainer/stats";
import { describe, expect, test } from "vitest";
import { compareWithDeclared, compareWithLive } from "../src/inventory.ts";
import { CONSUMER_MAP, QUEUES_WITHOUT_EVENTS } from "../src/map.ts";
import { startApps, untilWaiting } from "./running-apps.ts";

const MAP = { entries: CONSUMER_MAP, queuesWithoutEvents: Object.keys(QUEUES_WITHOUT_EVENTS) };

describe("the consumer map", () => {
  test("has every consumer, queue and route that is declared, and no other", () => {
    expect(compareWithDeclared(MAP, { consumers: CONSUMERS, queues: QUEUE_NAMES, routes: ROUTES })).toEqual([]);
  });

  test("has what the worker apps run when they are started, and nothing that nobody runs", async () => {
    const apps = await startApps();
    const processes = await listLiveProcesses(apps.database.pool);
    const live = processes.map(({ app, consumers, queues }) => ({ app, consumers: consumers ?? [], queues }));
    expect(live.map(({ app }) => app).sort()).toEqual(["worker-general", "worker-mail"]);
    expect(compareWithLive(MAP, { apps: live, effects: afterSaveEffects() })).toEqual([]);
    const registered = live.flatMap(({ queues }) => queues).sort();
    // What a process says of itself is what its workers do.
    expect(await untilWaiting(apps, registered)).toEqual(registered);
  });
});
