import { createRouter, ROUTES } from "@toolctrl/event-router/router";
import { expect, test } from "vitest";
import type { ConsumerMapEntry } from "../src/entry.ts";
import { createHeldBy } from "../src/held.ts";
import { CONSUMER_MAP } from "../src/map.ts";

const router = createRouter();
const ruleOf = (type: string) => {
  const rule = router(type);
  if (rule === null) throw new Error(`expected a route of ${type}, got none`);
  return rule;
};

test("a consumer that is out of scope holds each of its routes, with its reason and day; the others go", () => {
  const out = { in: false, reason: "its provider has no sandbox", since: "2026-12-02" } as const;
  const map = { ...CONSUMER_MAP, "notification-create": { ...CONSUMER_MAP["notification-create"], scope: out } };
  const heldBy = createHeldBy(map);
  const hold = { consumer: "notification-create", reason: out.reason, since: out.since };
  expect(heldBy(ruleOf("billing.invoice.paid"))).toEqual(hold);
  expect(heldBy(ruleOf("tenant.subscription.renewed"))).toEqual(hold);
  expect(heldBy(ruleOf("audit.entry.record"))).toBeNull();
});

test("of a route with two consumers one that is out of scope holds both", () => {
  const entry: ConsumerMapEntry = { ...CONSUMER_MAP["email-send"], scope: { in: false, reason: "r", since: "2026-12-02" } };
  expect(createHeldBy({ ...CONSUMER_MAP, "email-send": entry })(ruleOf("mail.message.send"))).toMatchObject({ consumer: "email-send" });
});

test("the map holds the routes of its consumers that are out of scope, and no other", () => {
  const heldBy = createHeldBy();
  const held = Object.values(CONSUMER_MAP).flatMap(({ prefixes, scope }) => (scope.in ? [] : prefixes));
  expect(ROUTES.filter((rule) => heldBy(rule) !== null).map(({ prefix }) => prefix)).toEqual(
    ROUTES.map(({ prefix }) => prefix).filter((prefix) => held.includes(prefix)),
  );
});
