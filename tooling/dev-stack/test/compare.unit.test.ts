import { expect, test } from "vitest";
import { compare } from "../src/compare.ts";
import { EFFECT_KINDS, type Intent, type Observed } from "../src/effect-kinds.ts";

const none = Object.fromEntries(EFFECT_KINDS.map((kind) => [kind, new Map()])) as unknown as Observed;
const intents: Intent[] = [
  { key: "a", kind: "email-send", expected: 1 },
  { key: "b", kind: "audit-append", expected: 0 },
];

test("an effect that is not there is missing, one that was never intended is doubled, and so is a second one", () => {
  expect(compare(intents, none)).toMatchObject({ missing: ["email-send a"], doubled: [] });
  expect(compare(intents, { ...none, "email-send": new Map([["a", 1]]) })).toMatchObject({
    effects: { "email-send": 1, "audit-append": 0 },
    missing: [],
    doubled: [],
  });
  expect(compare(intents, { ...none, "email-send": new Map([["a", 2]]), "audit-append": new Map([["b", 1]]) })).toMatchObject({
    missing: [],
    doubled: ["email-send a", "audit-append b"],
  });
});
