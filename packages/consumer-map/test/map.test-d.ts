import type { Effects } from "@toolctrl/domain/after-save-effects";
import type { ConsumerName, ConsumerOf } from "@toolctrl/foundation/consumers";
import { expectTypeOf, test } from "vitest";
import type { ConsumerMap, ConsumerMapEntry } from "../src/map.ts";

/** What the worker apps run, as the types of their consumers (`ConsumersOf`) hold each to it, and the drainer. */
type Running = ConsumerOf<"general"> | ConsumerOf<"mail"> | keyof Effects;

declare const map: ConsumerMap;
declare const entry: ConsumerMapEntry<"audit-append">;

test("a map without the entry of a consumer is no map", () => {
  expectTypeOf<Omit<ConsumerMap, "audit-append">>().not.toExtend<ConsumerMap>();
  expectTypeOf<ConsumerMap>().toExtend<ConsumerMap>();
});

test("an entry of no consumer has no place on the map", () => {
  // @ts-expect-error no consumer has this name
  const extra: ConsumerMap = { ...map, "audit-prepend": entry };
  expectTypeOf(extra).toEqualTypeOf<ConsumerMap>();
});

test("every consumer that runs has an entry, and every entry a consumer that runs", () => {
  expectTypeOf<Running>().toEqualTypeOf<ConsumerName>();
  expectTypeOf<keyof ConsumerMap>().toEqualTypeOf<Running>();
});

test("an entry is of its consumer's own queue, and has code and evidence", () => {
  expectTypeOf<ConsumerMapEntry<"ai-cost-record">>().not.toExtend<ConsumerMap["audit-append"]>();
  expectTypeOf<Omit<ConsumerMapEntry<"audit-append">, "evidence">>().not.toExtend<ConsumerMap["audit-append"]>();
  expectTypeOf<ConsumerMap["workflow-trigger"]>().not.toExtend<ConsumerMap["audit-append"]>();
});

test("a consumer out of scope has a reason and a date", () => {
  type Scope = ConsumerMap["audit-append"]["scope"];
  expectTypeOf<{ in: true }>().toExtend<Scope>();
  expectTypeOf<{ in: false; reason: string; since: "2026-12-02" }>().toExtend<Scope>();
  expectTypeOf<{ in: false; reason: string }>().not.toExtend<Scope>();
  expectTypeOf<{ in: false; reason: string; since: "soon" }>().not.toExtend<Scope>();
});
