import { CONSUMER_NAMES, type PlannedConsumer } from "@toolctrl/foundation/consumers";
import { expect, test } from "vitest";
import { SAMPLE_CASES } from "../src/cases.ts";
import { EFFECT_KINDS } from "../src/effect-kinds.ts";

test("the sample traffic shows an effect of every consumer that has code, and of no other", () => {
  const planned: readonly PlannedConsumer[] = ["workflow-trigger"];
  const served = CONSUMER_NAMES.filter((name) => !(planned as readonly string[]).includes(name));
  expect([...EFFECT_KINDS].sort()).toEqual([...served].sort());
  expect(new Set(SAMPLE_CASES.flatMap(({ effects }) => Object.keys(effects)))).toEqual(new Set(EFFECT_KINDS));
});
