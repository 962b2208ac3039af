import type { OutboxTransaction } from "@toolctrl/db/outbox";
import { isCodedError } from "@toolctrl/foundation/errors";
import { checkEventPayload } from "@toolctrl/foundation/events";
import { encodeStrictJson, type JsonObject } from "@toolctrl/foundation/json";
import { describe, expect, test } from "vitest";
import { createForm, type RouteCondition, type RouteRuleInput } from "../src/forms.ts";
import { applyRules } from "../src/forms/apply-rules.ts";
import { checkDefinition } from "../src/forms/check-definition.ts";
import { checkSubmission } from "../src/forms/check-submission.ts";
import { eventsOfActions, type RoutedEvent } from "../src/forms/events-of-actions.ts";
import { matches } from "../src/forms/matches.ts";
import { FIELDS, FORM, ROUTES, submissionOf } from "./form-support.ts";
import { rejection } from "./support.ts";

const DEFINITION = checkDefinition({ name: "Contact", fields: FIELDS, routes: ROUTES });

function thrownBy(run: () => unknown): { code: string; message: string; facts: Readonly<Record<string, unknown>> } {
  try {
    run();
  } catch (error) {
    if (isCodedError(error)) return error;
    throw error;
  }
  throw new Error("expected a coded error, got none");
}

describe("a form's definition", () => {
  const rule = (change: object): unknown[] => [{ id: "r", actions: [{ type: "webhook" }], ...change }];
  const mail = (change: object): unknown[] => rule({ actions: [{ type: "mail", to: "a@b.test", subject: "s", text: "t", ...change }] });

  test.each<[what: string, change: { name?: unknown; fields?: unknown; routes?: unknown }, paths: string[]]>([
    ["no name", { name: " " }, ["name"]],
    ["no field", { fields: [] }, ["fields"]],
    ["a field twice", { fields: [...FIELDS, { name: "email", kind: "text" }] }, ["fields.7.name"]],
    ["a field name that no template can name", { fields: [{ name: "Full name", kind: "text" }] }, ["fields.0.name"]],
    [
      "field names that nothing can read",
      { fields: ["constructor", "prototype"].map((name) => ({ name, kind: "text" })) },
      ["fields.0.name", "fields.1.name"],
    ],
    ["a choice of spaces, which is no answer", { fields: [{ name: "a", kind: "choice", choices: ["A", " "] }] }, ["fields.0.choices"]],
    ["a kind that there is not", { fields: [{ name: "a", kind: "file" }] }, ["fields.0.kind"]],
    ["a least length above the most", { fields: [{ name: "a", kind: "text", minLength: 3, maxLength: 2 }] }, ["fields.0.minLength"]],
    ["choices that differ by case alone", { fields: [{ name: "a", kind: "choice", choices: ["A", "a "] }] }, ["fields.0.choices"]],
    ["a misspelt setting", { fields: [{ name: "a", kind: "text", maxlength: 2 }] }, ["fields.0.maxlength"]],
    ["U+0000 inside", { fields: [{ name: "a", kind: "text", label: "\u0000" }] }, ["fields.0.label"]],
    [
      "more than 256 KiB",
      {
        routes: rule({
          actions: Array.from({ length: 5 }, () => ({ type: "mail", to: "a@b.test", subject: "s", text: "x".repeat(60_000) })),
        }),
      },
      ["form"],
    ],
    ["a rule id twice", { routes: [...rule({}), ...rule({})] }, ["routes.1.id"]],
    ["a rule without an action", { routes: rule({ actions: [] }) }, ["routes.0.actions"]],
    ["an action that there is not", { routes: rule({ actions: [{ type: "sms" }] }) }, ["routes.0.actions.0.type"]],
    ["a condition of no field", { routes: rule({ when: { field: "nope", exists: true } }) }, ["routes.0.when.field"]],
    ["a condition with two tests", { routes: rule({ when: { field: "topic", equals: "Demo", exists: true } }) }, ["routes.0.when"]],
    ["a condition without a test", { routes: rule({ when: { field: "topic" } }) }, ["routes.0.when"]],
    [
      "a misspelt test",
      { routes: rule({ when: { any: [{ field: "topic", equal: "Demo" }] } }) },
      ["routes.0.when.any.0.equal", "routes.0.when.any.0"],
    ],
    ["a text for a number", { routes: rule({ when: { field: "seats", equals: "10" } }) }, ["routes.0.when.equals"]],
    ["contains of a number", { routes: rule({ when: { all: [{ field: "seats", contains: "1" }] } }) }, ["routes.0.when.all.0.contains"]],
    [
      "spaces to compare with",
      {
        routes: rule({
          when: {
            any: [
              { field: "fullName", contains: " " },
              { field: "fullName", equals: "\u3000" },
              { field: "fullName", oneOf: ["Ann", "\t"] },
            ],
          },
        }),
      },
      ["routes.0.when.any.0.contains", "routes.0.when.any.1.equals", "routes.0.when.any.2.oneOf.1"],
    ],
    ["a choice that there is not", { routes: rule({ when: { field: "topic", oneOf: ["Demo", "Sales"] } }) }, ["routes.0.when.oneOf.1"]],
    ["a lead of no field", { routes: rule({ actions: [{ type: "lead", name: "who" }] }) }, ["routes.0.actions.0.name"]],
    ["a lead whose address is any text", { routes: rule({ actions: [{ type: "lead", email: "copyTo" }] }) }, ["routes.0.actions.0.email"]],
    ["a lead of nothing", { routes: rule({ actions: [{ type: "lead" }] }) }, ["routes.0.actions.0"]],
    ["a mail to a list in one text", { routes: mail({ to: "a@b.test, c@d.test" }) }, ["routes.0.actions.0.to"]],
    ["a mail to a line break", { routes: mail({ to: ["a@b.test", "a@b.test\r\nBcc: c@d.test"] }) }, ["routes.0.actions.0.to.1"]],
    ["a mail to a number", { routes: mail({ to: { field: "seats" } }) }, ["routes.0.actions.0.to.field"]],
    ["a mail without a body", { routes: mail({ text: undefined }) }, ["routes.0.actions.0.text"]],
    ["a template that does not parse", { routes: mail({ subject: "{{ data.fullName" }) }, ["routes.0.actions.0.subject"]],
    ["a filter that there is not", { routes: mail({ html: "{{ data.fullName | shout }}" }) }, ["routes.0.actions.0.html"]],
    ["a template that asks for no field", { routes: mail({ text: "{{ data.name }}" }) }, ["routes.0.actions.0.text"]],
    ["a template that asks for something else", { routes: mail({ text: "{{ fullName }}" }) }, ["routes.0.actions.0.text"]],
    [
      "an event that is no webhook's",
      { routes: rule({ actions: [{ type: "webhook", event: "billing.invoice.paid" }] }) },
      ["routes.0.actions.0.event"],
    ],
  ])("with %s is refused with its path, before any SQL", async (_what, change, paths) => {
    const given = { tenantId: "tenant-a", name: "Contact", fields: FIELDS, ...change } as Parameters<typeof createForm>[1];
    expect(await rejection(createForm({} as OutboxTransaction, given))).toMatchObject({ code: "FORM.ARGUMENT", facts: { paths } });
  });

  test("names all that is wrong at once", () => {
    const routes = [{ id: "a", when: { field: "x", exists: true }, actions: [{ type: "mail", to: "x", subject: "{{", text: "" }] }];
    expect(thrownBy(() => checkDefinition({ name: "", fields: FIELDS, routes })).facts["paths"]).toEqual(["name", "routes.0.actions.0.to"]);
  });

  test("that nests without end, or in a circle, is refused and not followed", () => {
    const deep = Array.from({ length: 100 }).reduce<object>((inner) => ({ any: [inner] }), { field: "topic", exists: true });
    const circle: Record<string, unknown> = {};
    circle["any"] = [circle];
    for (const when of [deep, circle]) {
      expect(
        thrownBy(() => checkDefinition({ name: "n", fields: FIELDS, routes: [{ id: "r", when, actions: [{ type: "webhook" }] }] })).code,
      ).toBe("FORM.ARGUMENT");
    }
  });
});

describe("what somebody sends", () => {
  const GOOD = { fullName: "Ann", email: "Ann@example.com", seats: 3, consent: false, topic: "demo " };

  test("is stored with the form's fields alone, empty ones left out, addresses and choices in their own form", () => {
    expect(checkSubmission(DEFINITION.fields, { ...GOOD, email: " Ann@EXAMPLE.com ", company: "  ", copyTo: null })).toEqual({
      ...GOOD,
      topic: "Demo",
    });
  });

  test.each<[what: string, change: object, field: string, expected: string, got: string]>([
    ["a missing field that is required", { fullName: undefined }, "fullName", "a text", "nothing"],
    ["spaces for one that is required", { fullName: " \n" }, "fullName", "a text", "nothing"],
    ["a text that is too long", { fullName: "x".repeat(301) }, "fullName", "a text of 0 to 300 characters", "one of 301"],
    ["a number for a text", { fullName: 7 }, "fullName", "a text", "a number"],
    ["U+0000", { fullName: "a\u0000" }, "fullName", "well-formed Unicode without U+0000", "something else"],
    ["half a character", { fullName: "a\uD800" }, "fullName", "well-formed Unicode without U+0000", "something else"],
    ["two addresses", { email: "a@b.test,c@d.test" }, "email", "one plain e-mail address", "a list"],
    [
      "an address with a line break inside",
      { email: "a@b.test\r\nBcc:c@d.test" },
      "email",
      "one plain e-mail address",
      "a line break in it",
    ],
    ["a list for an address", { email: ["a@b.test"] }, "email", "a text", "a list"],
    ["a text for a number", { seats: "3" }, "seats", "a number", "a string"],
    ["no number", { seats: Number.NaN }, "seats", "a number", "a number"],
    ["a text for a boolean", { consent: "on" }, "consent", "true or false", "a string"],
    ["another choice", { topic: "Sales" }, "topic", "one of Demo, Support", "another text"],
    ["a field that there is not", { isAdmin: true }, "isAdmin", "absent", "a field that the form does not have"],
    ["an inherited name", { constructor: "x" }, "constructor", "absent", "a field that the form does not have"],
  ])("with %s is refused, and the field named", (_what, change, field, expected, got) => {
    const error = thrownBy(() => checkSubmission(DEFINITION.fields, { ...GOOD, ...change }));
    expect(error).toMatchObject({ code: "FORM.DATA", facts: { fields: [{ field, expected, got }] } });
    expect(error.message).toContain(`  - ${field}: expected ${expected}, got ${got}`);
  });

  test.each([null, [], "text", 7])("that is %j is refused", (data) => {
    expect(thrownBy(() => checkSubmission(DEFINITION.fields, data)).code).toBe("FORM.DATA");
  });

  test("names every field that is wrong at once, and never what was written", () => {
    const error = thrownBy(() => checkSubmission(DEFINITION.fields, { email: "secret", seats: "secret", topic: "secret" }));
    const fields = (error.facts["fields"] as Array<{ field: string }>).map(({ field }) => field);
    expect(fields).toEqual(["fullName", "email", "seats", "topic"]);
    expect(JSON.stringify([error.message, error.facts])).not.toContain("secret");
  });
});

describe("a condition", () => {
  const data: JsonObject = { fullName: "Ann Lee", topic: "Demo", seats: 10, consent: false };
  test.each<[RouteCondition, boolean]>([
    [{ field: "topic", equals: " DEMO" }, true],
    [{ field: "topic", equals: "Support" }, false],
    [{ field: "seats", equals: 10 }, true],
    [{ field: "seats", equals: 11 }, false],
    [{ field: "consent", equals: false }, true],
    [{ field: "consent", exists: true }, true],
    [{ field: "company", exists: false }, true],
    [{ field: "company", equals: "x" }, false],
    [{ field: "constructor", exists: true }, false],
    [{ field: "fullName", contains: "ann" }, true],
    [{ field: "fullName", contains: "bob" }, false],
    [{ field: "seats", oneOf: [1, 10] }, true],
    [{ field: "seats", oneOf: ["10"] }, false],
    [
      {
        all: [
          { field: "topic", equals: "demo" },
          { field: "seats", equals: 11 },
        ],
      },
      false,
    ],
    [{ any: [{ field: "topic", equals: "x" }, { all: [{ field: "seats", equals: 10 }] }] }, true],
  ])("%j holds: %s", (condition, expected) => {
    expect(matches(condition, data)).toBe(expected);
  });
});

describe("the rules of a form", () => {
  const rulesOf = (routes: readonly RouteRuleInput[], data: JsonObject): string[] =>
    applyRules(checkDefinition({ name: "n", fields: FIELDS, routes }).routes, data).map(({ ruleId, place }) => `${ruleId}:${place}`);

  test("apply in order, each by its own condition, until one that stops", () => {
    const demo = { fullName: "Ann", email: "a@b.test", topic: "Demo", seats: 10 };
    expect(rulesOf(ROUTES, demo)).toEqual(["lead:0", "thank-you:0", "demo:0", "demo:1"]);
    expect(rulesOf(ROUTES, { fullName: "Ann" })).toEqual(["lead:0"]);
    const stopping: RouteRuleInput[] = [
      { id: "first", when: { field: "topic", equals: "demo" }, actions: [{ type: "webhook" }], stop: true },
    ];
    expect(rulesOf([...stopping, ...ROUTES], demo)).toEqual(["first:0"]);
    expect(rulesOf([...stopping, ...ROUTES], { fullName: "Ann" })).toEqual(["lead:0"]);
  });
});

describe("the events of a submission", () => {
  const leadId = "0190a0a0-0000-7000-8000-00000000001e";
  const data = { fullName: "Ann", email: "ann@example.com", topic: "Demo", seats: 10 };

  function eventsOf(routes: readonly RouteRuleInput[], given: JsonObject, effectEpoch = 0): RoutedEvent[] {
    const { routes: checked } = checkDefinition({ name: "Contact", fields: FIELDS, routes });
    return eventsOfActions(applyRules(checked, given), { form: FORM, submission: submissionOf(given), leadId, effectEpoch });
  }

  test("are those of its actions, sorted by keys that are the same on every try, and others for a repeat", () => {
    const { id } = submissionOf(data);
    const events = eventsOf(ROUTES, data);
    expect(events.map(({ type, dispatchKey }) => [type, dispatchKey])).toEqual([
      ["webhook.form.submitted", `form-route:${id}:demo:0`],
      ["notification.message.create", `form-route:${id}:demo:1`],
      ["mail.message.send", `form-route:${id}:thank-you:0`],
    ]);
    expect(eventsOf(ROUTES.toReversed(), data)).toEqual(events);
    expect(eventsOf(ROUTES, data, 2).map(({ dispatchKey }) => dispatchKey)).toEqual(events.map(({ dispatchKey }) => `${dispatchKey}:2`));
  });

  test("fit the catalogue, and carry what their consumers need", () => {
    const [webhook, notification, mail] = eventsOf(ROUTES, data);
    for (const { type, payload } of eventsOf(ROUTES, data)) checkEventPayload(type, payload);
    expect(webhook?.payload).toEqual({
      formId: FORM.id,
      formName: "Contact",
      submissionId: submissionOf(data).id,
      submittedAt: "2026-11-30T10:00:00.000Z",
      leadId,
      data,
    });
    expect(notification?.payload).toEqual({ recipientId: "sales", title: "Demo for Ann", body: "Contact" });
    expect(mail?.payload).toMatchObject({
      to: ["ann@example.com"],
      subject: "Hello {{ data.fullName }}",
      data: { data, leadId, form: FORM },
    });
  });

  const toCopy: RouteRuleInput[] = [{ id: "copy", actions: [{ type: "mail", to: { field: "copyTo" }, subject: "s", text: "t" }] }];

  test("leave out the mail whose recipient was left empty", () => {
    expect(eventsOf(toCopy, data)).toEqual([]);
    expect(eventsOf(toCopy, { ...data, copyTo: "bob@example.com" })).toHaveLength(1);
  });

  test.each([
    "a@b.test,c@d.test",
    "a@b.test;c@d.test",
    "a@b.test\r\nRCPT TO:<c@d.test>",
    "a@b.test\nBcc: c@d.test",
    "<a@b.test>",
    "nobody",
  ])("are refused with rule and action, and without the value, where a mapped recipient is %j", (copyTo) => {
    const error = thrownBy(() => eventsOf(toCopy, { ...data, copyTo }));
    expect(error).toMatchObject({ code: "FORM.ROUTE", retry: false, facts: { ruleId: "copy", place: 0, cause: "MAIL.ADDRESS" } });
    expect(error.message).not.toContain("b.test");
  });

  test("of a notification fit whatever was written: cut to their length, and never without a title", () => {
    const title: RouteRuleInput[] = [
      { id: "n", actions: [{ type: "notification", recipientId: null, title: "{{ data.copyTo }}", body: "{{ data.copyTo }}" }] },
    ];
    const [long] = eventsOf(title, { ...data, copyTo: `${"x".repeat(499)}\u{1F600}` });
    checkEventPayload("notification.message.create", long?.payload);
    // Half a character at the cut would be refused.
    expect(encodeStrictJson(long?.payload).bytes).toBeGreaterThan(1000);
    expect(eventsOf(title, data)[0]?.payload).toMatchObject({ title: "Contact", body: "" });
  });
});
