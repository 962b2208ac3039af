import { describe, expect, test } from "vitest";
import { auditEntryFor, canonicalJson } from "../src/audit.ts";
import { notificationFor, titleOfEventType } from "../src/notifications.ts";

const eventId = "01970000-0000-7000-8000-000000000001";

describe("the notification of an event", () => {
  test("is the payload where that is a notification", () => {
    const payload = { recipientId: "u1", title: "Hello", body: "there" };
    expect(notificationFor({ eventId, type: "notification.message.create", payload })).toEqual(payload);
  });

  test("is the payload's member `notification` where it has one", () => {
    const payload = { subscriptionId: "s1", notification: { recipientId: null, title: "Plan changed" } };
    expect(notificationFor({ eventId, type: "billing.subscription.updated", payload })).toEqual({
      recipientId: null,
      title: "Plan changed",
      body: "",
    });
  });

  test("is a title made from the event type where the payload says nothing to people", () => {
    const event = { eventId, type: "tenant.subscription.past-due", payload: { subscriptionId: "s1" } };
    expect(notificationFor(event)).toEqual({ recipientId: null, title: "Tenant subscription past due", body: "" });
    expect(titleOfEventType("billing.invoice.paid")).toBe("Billing invoice paid");
  });

  test("is refused with its paths when an explicit one does not fit", () => {
    expect(() => notificationFor({ eventId, type: "notification.message.create", payload: { title: 3 } })).toThrow(
      expect.objectContaining({
        code: "RECEIVER.PAYLOAD",
        retry: false,
        facts: expect.objectContaining({ paths: expect.arrayContaining(["title"]) }),
      }),
    );
    expect(() => notificationFor({ eventId, type: "billing.invoice.paid", payload: { notification: { title: "" } } })).toThrow(
      expect.objectContaining({ code: "RECEIVER.PAYLOAD" }),
    );
  });
});

describe("the audit entry of an event", () => {
  test("is the payload where that is an entry", () => {
    const payload = { actor: "ann", action: "lead.update", object: "Lead", recordId: "1", data: { a: 1 } };
    expect(auditEntryFor({ eventId, type: "audit.entry.record", payload })).toEqual(payload);
  });

  test("is the event itself for another audit type, so that nothing goes unrecorded", () => {
    expect(auditEntryFor({ eventId, type: "audit.login.failed", payload: { ip: "::1" } })).toEqual({
      actor: "unknown",
      action: "audit.login.failed",
      object: "event",
      recordId: eventId,
      data: { ip: "::1" },
    });
  });

  test("is refused with its paths when an entry event does not hold one", () => {
    expect(() => auditEntryFor({ eventId, type: "audit.entry.record", payload: { actor: "ann" } })).toThrow(
      expect.objectContaining({ code: "RECEIVER.PAYLOAD", facts: expect.objectContaining({ paths: expect.arrayContaining(["action"]) }) }),
    );
  });
});

test("canonical JSON has one text for one value, whatever the order of members", () => {
  expect(canonicalJson({ b: [1, { d: null, c: "x" }], a: -0 })).toBe('{"a":0,"b":[1,{"c":"x","d":null}]}');
});
