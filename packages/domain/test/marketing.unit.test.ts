import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { contactEventOf } from "../src/marketing.ts";
import { changeContact, type ContactState } from "../src/marketing/change-contact.ts";
import type { ContactEvent } from "../src/marketing/contact-event.ts";
import { decideCall, providerStatusOf } from "../src/marketing/decide-call.ts";
import type { MarketingContact } from "../src/marketing.ts";

const NEW: ContactState = {
  email: "a@x.test",
  name: null,
  attributes: {},
  appliedPosition: null,
  consent: "unknown",
  consentAt: null,
  consentSource: null,
  consentPosition: null,
};

type Said = "granted" | "denied" | "nothing" | "unsubscribe" | "sync";

function eventAt(said: Said, position: number): ContactEvent {
  const placed = { email: "a@x.test", emailKey: "a@x.test", position: BigInt(position) };
  const consent = (choice: "granted" | "denied") => ({ consent: choice, at: new Date(position), source: `source-${position}` });
  if (said === "sync") return { ...placed, kind: "sync", consent: null };
  if (said === "unsubscribe") return { ...placed, kind: "unsubscribe", consent: consent("denied") };
  return {
    ...placed,
    kind: "upsert",
    name: `name-${position}`,
    attributes: { position },
    consent: said === "nothing" ? null : consent(said),
  };
}

const apply = (events: readonly ContactEvent[]): ContactState => events.reduce((state, event) => changeContact(state, event) ?? state, NEW);

const histories = fc
  .array(fc.constantFrom<Said>("granted", "denied", "nothing", "unsubscribe", "sync"), { minLength: 1, maxLength: 12 })
  .map((said) => said.map((each, index) => eventAt(each, index + 1)));

describe("the events of a contact", () => {
  test("lead to one state in whatever order and however often they come", () => {
    const deliveries = histories.chain((events) =>
      fc.tuple(fc.constant(events), fc.shuffledSubarray([...events, ...events], { minLength: 2 * events.length })),
    );
    fc.assert(
      fc.property(deliveries, ([events, delivered]) => {
        expect(apply(delivered)).toEqual(apply(events));
      }),
    );
  });

  test("leave the consent to the youngest that said something, and the person to the youngest upsert", () => {
    fc.assert(
      fc.property(histories, (events) => {
        const { consent, name } = apply(events);
        const choice = events.findLast((event) => event.consent !== null)?.consent;
        const person = events.findLast((event) => event.kind === "upsert");
        expect([consent, name]).toEqual([choice?.consent ?? "unknown", person?.name ?? null]);
      }),
    );
  });

  test("change nothing the second time", () => {
    fc.assert(
      fc.property(histories, (events) => {
        expect(events.map((event) => changeContact(apply(events), event))).toEqual(events.map(() => null));
      }),
    );
  });
});

describe("whether an event calls the provider", () => {
  const key = { eventId: "event", intentId: "intent", suppressed: false };
  const contact: MarketingContact = {
    ...NEW,
    id: "c",
    tenantId: "t",
    consent: "granted",
    revision: 1n,
    owedBy: "event",
    callIntentId: null,
    toldStatus: null,
    callMs: 0,
  };
  const begun = { callIntentId: "intent", toldStatus: "subscribed", callMs: 9000 } as const;
  const others = { ...begun, callIntentId: "other" };

  test.each<[string, Partial<MarketingContact>, Partial<typeof key>, unknown]>([
    ["a yes is told", {}, {}, { kind: "call", status: "subscribed" }],
    ["a no is told", { consent: "denied" }, {}, { kind: "call", status: "unsubscribed" }],
    ["nothing said: nothing told", { consent: "unknown" }, {}, { kind: "nothing" }],
    [
      "nothing said, but the provider may know the person",
      { consent: "unknown", ...others, callMs: 0 },
      {},
      { kind: "call", status: "unsubscribed" },
    ],
    ["suppressed, and the provider has never heard of them", {}, { suppressed: true }, { kind: "nothing" }],
    [
      "suppressed, and the provider may know them",
      { ...others, callMs: 0 },
      { suppressed: true },
      { kind: "call", status: "unsubscribed" },
    ],
    ["another event owes the contact", { owedBy: "other" }, {}, { kind: "overtaken" }],
    ["nothing is owed", { owedBy: null }, {}, { kind: "overtaken" }],
    ["another's call may be running", others, {}, { kind: "later", waitMs: 500 }],
    ["another's call is nearly over", { ...others, callMs: 7 }, {}, { kind: "later", waitMs: 7 }],
    ["its own call may be running: it is repeated", begun, {}, { kind: "call", status: "subscribed" }],
    ["its own call said otherwise: that is the suppression's own event's to tell", begun, { suppressed: true }, { kind: "overtaken" }],
  ])("%s", (_what, columns, facts, expected) => {
    expect(decideCall({ ...contact, ...columns }, { ...key, ...facts })).toEqual(expected);
  });

  test.each([
    ["granted", false, "subscribed"],
    ["granted", true, "unsubscribed"],
    ["denied", false, "unsubscribed"],
    ["unknown", false, "unsubscribed"],
  ] as const)("%s, suppressed %s, is %s", (consent, suppressed, status) => {
    expect(providerStatusOf({ consent }, suppressed)).toBe(status);
  });
});

describe("a marketing event", () => {
  const delivered = { type: "marketing.lead.upsert", position: "7", createdAt: "2026-01-01T00:00:00.000Z" };

  test("is read with its place, its address in one form, and the time it was published where it names none", () => {
    const payload = { email: "Ann@BÜCHER.test", consent: "granted", consentSource: "form" };
    expect(contactEventOf({ ...delivered, payload })).toEqual({
      kind: "upsert",
      email: "Ann@xn--bcher-kva.test",
      emailKey: "ann@xn--bcher-kva.test",
      position: 7n,
      name: null,
      attributes: {},
      consent: { consent: "granted", at: new Date(delivered.createdAt), source: "form" },
    });
  });

  test.each<[string, string, unknown, string]>([
    ["no address", "marketing.lead.upsert", { name: "Ann" }, "RECEIVER.PAYLOAD"],
    ["a consent from nowhere", "marketing.lead.upsert", { email: "ann@x.test", consent: "granted" }, "RECEIVER.PAYLOAD"],
    ["a source of no consent", "marketing.lead.upsert", { email: "ann@x.test", consentSource: "form" }, "RECEIVER.PAYLOAD"],
    [
      "an attribute that is a tree",
      "marketing.lead.upsert",
      { email: "ann@x.test", attributes: { tree: { of: "ann" } } },
      "RECEIVER.PAYLOAD",
    ],
    [
      "more than 100 attributes",
      "marketing.lead.upsert",
      { email: "ann@x.test", attributes: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`a${n}`, n])) },
      "RECEIVER.PAYLOAD",
    ],
    ["an unknown field", "marketing.lead.unsubscribe", { email: "ann@x.test", why: "ann" }, "RECEIVER.PAYLOAD"],
    ["two addresses", "marketing.lead.sync", { email: "ann@x.test,bob@x.test" }, "MAIL.ADDRESS"],
    ["a type that is not known", "marketing.lead.adored", { email: "ann@x.test" }, "RECEIVER.PAYLOAD"],
  ])("with %s is refused for good, and the message holds nobody's data", (_what, type, payload, code) => {
    const read = (): unknown => contactEventOf({ ...delivered, type, payload });
    expect(read).toThrow(expect.objectContaining({ code, retry: false }));
    expect(read).not.toThrow(/ann|bob/i);
  });
});
