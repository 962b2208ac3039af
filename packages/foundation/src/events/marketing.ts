import { z } from "zod";

const email = z.string().min(3).max(320).describe("Exactly one plain address; its case tells no two contacts apart");
const attribute = z.union([z.string().max(1000), z.number(), z.boolean(), z.null()]);

/** A person for marketing, as the publisher knows them now: whole, not a part. Consent alone may be left out. */
export const marketingLeadUpsertSchema = z
  .strictObject({
    email,
    name: z.string().min(1).max(200).nullable().default(null).describe("Replaces the name"),
    attributes: z
      .record(z.string().min(1).max(100), attribute)
      .default({})
      .refine((attributes) => Object.keys(attributes).length <= 100, { error: "expected at most 100 attributes" })
      .describe("Texts, numbers, true, false and null, at most 100; replaces the attributes as a whole"),
    consent: z
      .enum(["granted", "denied", "unknown"])
      .default("unknown")
      .describe("`granted`, `denied`, or `unknown`: this event says nothing about it, and what is known stays"),
    consentAt: z.iso
      .datetime({ offset: true })
      .optional()
      .describe("When the person said so, ISO 8601; without it, when this was published"),
    consentSource: z.string().min(1).max(200).optional().describe("Where they said so; needed with `granted` and `denied`"),
  })
  .refine(({ consent, consentSource }) => consent === "unknown" || consentSource !== undefined, {
    error: "expected where the consent was given or denied",
    path: ["consentSource"],
  })
  .refine(({ consent, consentAt, consentSource }) => consent !== "unknown" || (consentAt ?? consentSource) === undefined, {
    error: "expected granted or denied with consentAt or consentSource",
    path: ["consent"],
  })
  .describe("A marketing contact, as a whole; `marketing-sync` keeps it and tells the marketing provider.");

/** Somebody wants no marketing any more. */
export const marketingLeadUnsubscribeSchema = z
  .strictObject({
    email,
    reason: z
      .string()
      .min(1)
      .max(200)
      .default("unsubscribed")
      .describe("Kept as the source of the denied consent; the provider does not see it"),
  })
  .describe("A person takes their consent back; the marketing provider is told, also of a person it has never heard of.");

/** Nothing new about a contact, but something for the provider: a suppression came or went, or an older call may have arrived late. */
export const marketingLeadSyncSchema = z
  .strictObject({ email })
  .describe("Tells the marketing provider once more what is known of a contact; suppressing an address publishes it.");
