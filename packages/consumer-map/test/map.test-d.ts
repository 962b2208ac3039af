import type { Effects } from "@toolctrl/domain/after-save-effects";
import type { ConsumerName, ConsumerOf, PlannedConsumer } from "@toolctrl/foundation/consumers";
import { expectTypeOf, test } from "vitest";
import type { ConsumerMap, LiveEntry } from "../src/map.ts";

/** What the worker apps run, as the types of their consumers (`ConsumersOf`) hold each to it, and the drainer. */
type Running = ConsumerOf<"general"> | ConsumerOf<"mail"> | keyof Effects;

declare const map: ConsumerMap;
declare const live: LiveEntry<"audit-append">;

test("a map without the entry of a consumer is no map", () => {
  expectTypeOf<Omit<ConsumerMap, "audit-append">>().not.toExtend<ConsumerMap>();
  expectTypeOf<ConsumerMap>().toExtend<ConsumerMap>();
});

test("an entry of no consumer has no place on the map", () => {
  // @ts-expect-error no consumer has this name
  const extra: ConsumerMap = { ...map, "audit-prepend": live };
  expectTypeOf(extra).toEqualTypeOf<ConsumerMap>();
});

test("every consumer that runs has an entry, and every entry a consumer that runs, but those that are planned", () => {
  expectTypeOf<Running>().toEqualTypeOf<Exclude<ConsumerName, PlannedConsumer>>();
  expectTypeOf<Exclude<keyof ConsumerMap, PlannedConsumer>>().toEqualTypeOf<Running>();
});

test("an entry is of its consumer's own queue, and has code and evidence", () => {
  expectTypeOf<LiveEntry<"ai-cost-record">>().not.toExtend<ConsumerMap["audit-append"]>();
  expectTypeOf<Omit<LiveEntry<"audit-append">, "evidence">>().not.toExtend<ConsumerMap["audit-append"]>();
  expectTypeOf<ConsumerMap["workflow-trigger"]>().not.toExtend<ConsumerMap["audit-append"]>();
});

test("a planned consumer is out of scope, with a reason and a date", () => {
  expectTypeOf<LiveEntry<"workflow-trigger">>().not.toExtend<ConsumerMap["workflow-trigger"]>();
  expectTypeOf<{ in: true }>().not.toExtend<ConsumerMap["workflow-trigger"]["scope"]>();
  expectTypeOf<{ in: false; reason: string }>().not.toExtend<ConsumerMap["workflow-trigger"]["scope"]>();
  expectTypeOf<{ in: false; reason: string; since: "soon" }>().not.toExtend<ConsumerMap["workflow-trigger"]["scope"]>();
});
