import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { assertEventType, isEventType } from "../src/event-type.ts";

const LETTERS = "abcdefghijklmnopqrstuvwxyz".split("");
const ALNUM = [...LETTERS, ..."0123456789".split("")];
const word = fc.array(fc.constantFrom(...ALNUM), { minLength: 1, maxLength: 6 }).map((chars) => chars.join(""));
const segment = fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join("-"));
const domain = fc.tuple(fc.constantFrom(...LETTERS), segment).map(([first, rest]) => first + rest);
const eventType = fc.tuple(domain, fc.array(segment, { minLength: 2, maxLength: 4 })).map(([first, rest]) => [first, ...rest].join("."));

describe("isEventType", () => {
  test("accepts lowercase dot-separated types with hyphens and more segments", () => {
    fc.assert(fc.property(eventType, (type) => isEventType(type)));
    for (const type of [
      "billing.subscription.updated",
      "plugin.capability-use.recorded",
      "workflow.execution.continue.requested",
      "a.0.1",
    ]) {
      expect(isEventType(type), type).toBe(true);
    }
  });

  test.each([
    "",
    ".",
    "..",
    "mail",
    "mail.send",
    "LEAD.x",
    "LEAD.created.now",
    "Mail.message.send",
    "mAil.message.send",
    "mail.Message.send",
    "mail.message.sEnd",
    "mail..send",
    ".mail.message.send",
    "mail.message.send.",
    "mail.message.send ",
    " mail.message.send",
    "mail.message.send\n",
    "mail message send",
    "mail.mess_age.send",
    "mail.-message.send",
    "mail.message-.send",
    "mail.mes--sage.send",
    "1mail.message.send",
    "mail.méssage.send",
    "mail.message.*",
    "mail:message:send",
    "mail/message/send",
    "mаil.message.send",
  ])("refuses %j", (type) => {
    expect(isEventType(type)).toBe(false);
    expect(() => assertEventType(type)).toThrow(expect.objectContaining({ code: "PUBLISH.EVENT_TYPE" }));
  });

  test.each([undefined, null, 7, {}, ["mail.message.send"]])("refuses %j, which is no text", (type) => {
    expect(() => assertEventType(type)).toThrow(expect.objectContaining({ code: "PUBLISH.EVENT_TYPE" }));
  });

  test("one changed, added or removed separator or one capital makes it no event type", () => {
    fc.assert(
      fc.property(eventType, fc.nat(), fc.constantFrom("_", ":", " ", "\u0000", "A", "é", "."), (type, at, character) => {
        const dot = type.indexOf(".");
        const position = at % type.length;
        // A second dot beside a dot, anything else anywhere.
        const broken =
          character === "." ? `${type.slice(0, dot)}.${type.slice(dot)}` : type.slice(0, position) + character + type.slice(position);
        return !isEventType(broken);
      }),
    );
  });

  test("length is bounded", () => {
    expect(isEventType(`a.b.${"c".repeat(196)}`)).toBe(true);
    expect(isEventType(`a.b.${"c".repeat(197)}`)).toBe(false);
    expect(isEventType("a-".repeat(1_000_000))).toBe(false);
  });
});
