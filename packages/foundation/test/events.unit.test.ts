import { describe, expect, test } from "vitest";
import { z } from "zod";
import { checkEventPayload, findOutboxEvent, listOutboxEvents, registerOutboxEvent } from "../src/events.ts";

describe("the catalogue", () => {
  test("knows the product's own events and lists them by type", () => {
    const types = listOutboxEvents().map(({ type }) => type);
    expect(types).toEqual(
      expect.arrayContaining(["audit.entry.record", "mail.message.send", "notification.message.create", "webhook.message.deliver"]),
    );
    expect(types).toEqual([...types].sort());
  });

  test("names the personal data of a mail, and shows tenants only what is theirs", () => {
    expect(findOutboxEvent("mail.message.send")).toMatchObject({ pii: ["to", "replyTo", "data"], tenantVisible: false, version: 1 });
    expect(findOutboxEvent("webhook.message.deliver")).toMatchObject({ tenantVisible: true });
    expect(findOutboxEvent("no.such.event")).toBeUndefined();
  });

  test("takes an app's event once; the same schema again is no fault, another one is", () => {
    const schema = z.strictObject({ leadId: z.string() });
    registerOutboxEvent("test.lead.created", { schema, version: 3, pii: ["leadId"] });
    registerOutboxEvent("test.lead.created", { schema, version: 3, pii: ["leadId"] });
    expect(findOutboxEvent("test.lead.created")).toEqual({
      type: "test.lead.created",
      version: 3,
      schema,
      tenantVisible: false,
      pii: ["leadId"],
    });
    expect(() => registerOutboxEvent("test.lead.created", { schema: z.strictObject({}) })).toThrow(
      expect.objectContaining({ code: "PUBLISH.ARGUMENT" }),
    );
    expect(() => registerOutboxEvent("LEAD.x", { schema })).toThrow(expect.objectContaining({ code: "PUBLISH.EVENT_TYPE" }));
  });
});

describe("checkEventPayload", () => {
  test("returns what the schema made of the payload, with the version", () => {
    const payload = { to: "a@x.test", subject: "Hi", text: "Hello" };
    expect(checkEventPayload("mail.message.send", payload)).toEqual({ version: 1, payload: { ...payload, data: {} } });
  });

  test.each<[string, unknown, string[]]>([
    ["mail.message.send", { to: [], subject: "", text: "x", extra: 1 }, ["to", "subject", "extra"]],
    ["mail.message.send", { to: "a@x.test", subject: "x" }, ["text"]],
    ["mail.message.send", { to: ["a@x.test", 7], subject: "x", html: "x" }, ["to.1"]],
    ["notification.message.create", { recipientId: "", title: "t" }, ["recipientId"]],
    ["audit.entry.record", { actor: "a", action: "b", object: "c" }, ["recordId"]],
    [
      "search.index.upsert",
      { collection: "Lead", recordId: "", title: "", language: "de-AT" },
      ["collection", "recordId", "title", "language"],
    ],
    ["search.index.upsert", { collection: "lead", recordId: "1", title: "t", attributes: { a: "x".repeat(32_768) } }, ["attributes"]],
    ["search.index.delete", { collection: "lead" }, ["recordId"]],
    ["ai.cost.recorded", { model: "m", amount: 0.1, currency: "EUR" }, ["amount"]],
    [
      "ai.cost.recorded",
      { model: "m", amount: "0.0000000000001", currency: "eur", inputTokens: 0.5 },
      ["amount", "currency", "inputTokens"],
    ],
    ["ai.cost.recorded", { model: "m", amount: "1", currency: "EUR", recordedAt: "1999-12-31T23:59:59Z" }, ["recordedAt"]],
    ["webhook.message.deliver", "text", [""]],
    ["webhook.message.deliver", null, [""]],
  ])("refuses a wrong %s, naming each path", (type, payload, paths) => {
    expect(() => checkEventPayload(type, payload)).toThrow(
      expect.objectContaining({
        code: "PUBLISH.PAYLOAD_SCHEMA",
        retry: false,
        facts: expect.objectContaining({ type, paths: expect.arrayContaining(paths) }),
      }),
    );
  });

  test.each(["0", "7", "-0.5", "0.1", "999999999999.999999999999", "-999999999999"])("takes %s for an exact amount, as it is", (amount) => {
    const payload = { model: "m", amount, currency: "EUR", inputTokens: 0, outputTokens: 0 };
    expect(checkEventPayload("ai.cost.recorded", payload)).toEqual({ version: 1, payload });
  });

  test.each(["", "-", ".5", "5.", "01", "1e3", "+1", "1,5", "NaN", "Infinity", " 1", "1234567890123", "0.1234567890123"])(
    "takes %j for none",
    (amount) => {
      expect(() => checkEventPayload("ai.cost.recorded", { model: "m", amount, currency: "EUR" })).toThrow("amount");
    },
  );

  test("lets a type that is not in the catalogue pass as it is", () => {
    const payload = { anything: [1] };
    expect(checkEventPayload("crm.deal.won", payload)).toEqual({ version: 1, payload });
  });
});
