import type { RouteRule } from "@toolctrl/event-router/router";
import { ROUTES } from "@toolctrl/event-router/router";
import { CONSUMERS, type ConsumerName } from "@toolctrl/foundation/consumers";
import { QUEUE_NAMES } from "@toolctrl/foundation/queues";
import { describe, expect, test } from "vitest";
import { compareWithDeclared, compareWithLive, type Declared, type Live, type MapUnderTest } from "../src/inventory.ts";
import { CONSUMER_MAP, QUEUES_WITHOUT_EVENTS, type ConsumerMapEntry } from "../src/map.ts";

const MAP: MapUnderTest = { entries: CONSUMER_MAP, queuesWithoutEvents: Object.keys(QUEUES_WITHOUT_EVENTS) };
const DECLARED: Declared = { consumers: CONSUMERS, queues: QUEUE_NAMES, routes: ROUTES };

const NAMES = Object.keys(CONSUMER_MAP) as ConsumerName[];
const RUN = NAMES.filter((name) => CONSUMER_MAP[name].queue !== "database");
/** One app that runs all that the map has. */
const LIVE: Live = {
  apps: [{ app: "worker", consumers: RUN, queues: [...RUN.map((name) => CONSUMER_MAP[name].queue), ...MAP.queuesWithoutEvents] }],
  effects: [
    { name: "field-sets", on: ["record."] },
    { name: "opportunity-create", on: ["record.lead.converted"] },
  ],
};

function without(name: string): MapUnderTest {
  return { ...MAP, entries: Object.fromEntries(Object.entries(MAP.entries).filter(([each]) => each !== name)) };
}

function changed(name: ConsumerName, change: Partial<ConsumerMapEntry>): MapUnderTest {
  return { ...MAP, entries: { ...MAP.entries, [name]: { ...CONSUMER_MAP[name], ...change } } };
}

const withRoute = (rule: RouteRule): Declared => ({ ...DECLARED, routes: [...ROUTES, rule] });
const liveWith = (change: Partial<Live["apps"][number]>): Live => ({
  ...LIVE,
  apps: [...LIVE.apps, { app: "other", consumers: [], queues: [], ...change }],
});

describe("the map and what is declared", () => {
  test("agree", () => {
    expect(compareWithDeclared(MAP, DECLARED)).toEqual([]);
  });

  test.each(NAMES)("differ by %s when its entry is deleted", (name) => {
    expect(compareWithDeclared(without(name), DECLARED)).toContain(`The consumer ${name} is not on the map.`);
  });

  test.each<[string, MapUnderTest, Declared, string]>([
    ["a queue", MAP, { ...DECLARED, queues: [...QUEUE_NAMES, "outbox.new"] }, "The queue outbox.new is not on the map."],
    ["a queue without events", { ...MAP, queuesWithoutEvents: [] }, DECLARED, "The queue toolctrl.maintenance is not on the map."],
    ["a consumer", MAP, { ...DECLARED, consumers: { ...CONSUMERS, "new-one": "outbox.audit" } }, "The consumer new-one is not on the map."],
    [
      "an entry",
      { ...MAP, entries: { ...MAP.entries, "old-one": CONSUMER_MAP["audit-append"] } },
      DECLARED,
      "The map has an entry old-one, and there is no such consumer.",
    ],
    [
      "the queue of a consumer",
      changed("audit-append", { queue: "outbox.notification" }),
      DECLARED,
      "The map says that audit-append reads outbox.notification, and it reads outbox.audit.",
    ],
    [
      "a route",
      MAP,
      withRoute({ prefix: "new.", target: "queue", queue: "outbox.audit", consumers: ["audit-append"] }),
      "The route new. is not on the map: no entry has the prefix and is named by the route.",
    ],
    [
      "a route to the database",
      MAP,
      withRoute({ prefix: "new.", target: "database", consumers: [] }),
      "The route new. is not on the map: no entry has the prefix and is named by the route.",
    ],
    [
      "where a route leads",
      changed("audit-append", { prefixes: ["audit.", "new."] }),
      withRoute({ prefix: "new.", target: "queue", queue: "outbox.notification", consumers: ["audit-append"] }),
      "The route new. leads to outbox.notification, and none of its consumers reads that queue.",
    ],
    [
      "one of the consumers of a route",
      changed("email-send", { prefixes: [] }),
      DECLARED,
      "The route mail. names email-send, and the map does not say so.",
    ],
    [
      "a prefix of an entry",
      changed("audit-append", { prefixes: ["audit.", "mail."] }),
      DECLARED,
      "The map says that audit-append gets events of mail., and no route does.",
    ],
  ])("differ by %s that only one of them has", (_, map, declared, sentence) => {
    expect(compareWithDeclared(map, declared)).toContain(sentence);
  });
});

describe("the map and what runs", () => {
  test("agree", () => {
    expect(compareWithLive(MAP, LIVE)).toEqual([]);
  });

  test.each([...RUN, "field-sets", "opportunity-create"])("differ by %s when nobody runs it", (name) => {
    const apps = LIVE.apps.map((app) => ({ ...app, consumers: app.consumers.filter((each) => each !== name) }));
    const effects = LIVE.effects.filter((effect) => effect.name !== name);
    expect(compareWithLive(MAP, { apps, effects })).toContain(`The map has an entry ${name}, and nobody runs it.`);
  });

  test.each<[string, Live, string]>([
    ["a consumer", liveWith({ consumers: ["new-one"] }), "other runs new-one, which is not on the map."],
    ["a queue", liveWith({ queues: ["outbox.audit"] }), "other works outbox.audit with no consumer that the map puts there."],
    [
      "a consumer away from its queue",
      liveWith({ consumers: ["audit-append"], queues: [] }),
      "other runs audit-append, and does not work its queue outbox.audit.",
    ],
    [
      "an effect",
      { ...LIVE, effects: [...LIVE.effects, { name: "new-effect", on: ["record."] }] },
      "The after-save effect new-effect is not on the map.",
    ],
    [
      "the events of an effect",
      { ...LIVE, effects: [{ name: "field-sets", on: ["record.", "form."] }, ...LIVE.effects.slice(1)] },
      "The after-save effect field-sets runs for form., and the map does not say so.",
    ],
    [
      "the work on a queue without events",
      { ...LIVE, apps: LIVE.apps.map((app) => ({ ...app, queues: app.queues.filter((queue) => queue !== "toolctrl.maintenance") })) },
      "Nobody works the queue toolctrl.maintenance.",
    ],
  ])("differ by %s", (_, live, sentence) => {
    expect(compareWithLive(MAP, live)).toContain(sentence);
  });
});
