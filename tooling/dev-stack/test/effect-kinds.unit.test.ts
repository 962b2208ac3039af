import { CONSUMER_NAMES } from "@toolctrl/foundation/consumers";
import { expect, test } from "vitest";
import { SAMPLE_CASES } from "../src/cases.ts";
import { EFFECT_KINDS } from "../src/effect-kinds.ts";

test("the sample traffic shows an effect of every consumer, and of no other", () => {
  expect([...EFFECT_KINDS].sort()).toEqual([...CONSUMER_NAMES].sort());
  expect(new Set(SAMPLE_CASES.flatMap(({ effects }) => Object.keys(effects)))).toEqual(new Set(EFFECT_KINDS));
});
