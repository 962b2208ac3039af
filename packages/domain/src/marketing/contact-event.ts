import { CodedError } from "@toolctrl/foundation/errors";
import { marketingLeadSyncSchema, marketingLeadUnsubscribeSchema, marketingLeadUpsertSchema } from "@toolctrl/foundation/events";
import type { JsonObject } from "@toolctrl/foundation/json";
import { z } from "zod";
import { parseAddress } from "../emails/parse-address.ts";
import { emailKeyOf } from "./email-key.ts";

/** What an event says about a person's consent. */
export interface ConsentChange {
  readonly consent: "granted" | "denied";
  readonly at: Date;
  readonly source: string;
}

/** What a marketing event says about a contact. */
export type ContactEvent = { readonly email: string; readonly emailKey: string; readonly position: bigint } & (
  | { readonly kind: "upsert"; readonly name: string | null; readonly attributes: JsonObject; readonly consent: ConsentChange | null }
  | { readonly kind: "unsubscribe"; readonly consent: ConsentChange }
  | { readonly kind: "sync"; readonly consent: null }
);

/** An event as it was delivered; `position` in decimal digits, `createdAt` in ISO 8601. */
export interface DeliveredContactEvent {
  readonly type: string;
  readonly payload: unknown;
  readonly position: string;
  readonly createdAt: string;
}

/**
 * Reads a marketing event.
 * @throws CodedError `RECEIVER.PAYLOAD` for a type that is not one, or naming each path; `MAIL.ADDRESS`. Never the values: they are somebody's.
 */
export function contactEventOf(event: DeliveredContactEvent): ContactEvent {
  switch (event.type) {
    case "marketing.lead.upsert": {
      const { email, name, attributes, ...said } = parse(marketingLeadUpsertSchema, event);
      return { ...placed(email, event), kind: "upsert", name, attributes, consent: consentOf(said, event) };
    }
    case "marketing.lead.unsubscribe": {
      const { email, reason } = parse(marketingLeadUnsubscribeSchema, event);
      return {
        ...placed(email, event),
        kind: "unsubscribe",
        consent: { consent: "denied", at: new Date(event.createdAt), source: reason },
      };
    }
    case "marketing.lead.sync":
      return { ...placed(parse(marketingLeadSyncSchema, event).email, event), kind: "sync", consent: null };
    default:
      throw new CodedError("RECEIVER.PAYLOAD", `expected an upsert, an unsubscribe or a sync of a marketing lead, got ${event.type}`);
  }
}

function parse<Schema extends z.ZodType>(schema: Schema, { type, payload }: DeliveredContactEvent): z.output<Schema> {
  const parsed = schema.safeParse(payload);
  if (parsed.success) return parsed.data;
  throw new CodedError("RECEIVER.PAYLOAD", `expected the payload of ${type} to fit its schema, got:\n${z.prettifyError(parsed.error)}`, {
    facts: { paths: parsed.error.issues.map((issue) => issue.path.join(".")) },
  });
}

function placed(text: string, { position }: DeliveredContactEvent): { email: string; emailKey: string; position: bigint } {
  const email = parseAddress(text, "email");
  return { email, emailKey: emailKeyOf(email), position: BigInt(position) };
}

type Said = Pick<z.output<typeof marketingLeadUpsertSchema>, "consent" | "consentAt" | "consentSource">;

function consentOf({ consent, consentAt, consentSource = "" }: Said, { createdAt }: DeliveredContactEvent): ConsentChange | null {
  if (consent === "unknown") return null;
  return { consent, at: new Date(consentAt ?? createdAt), source: consentSource };
}
