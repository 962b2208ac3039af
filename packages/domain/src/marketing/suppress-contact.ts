import { assertOutboxTransaction, publishOutboxEvent } from "@toolctrl/db/outbox";
import { CodedError } from "@toolctrl/foundation/errors";
import { parseAddress } from "../emails/parse-address.ts";
import type { RowEventContext } from "../rows/row.ts";
import type { TransactionClient } from "../transaction-client.ts";
import { emailKeyOf } from "./email-key.ts";

const MAX_REASON_LENGTH = 200;

export interface SuppressionKey {
  readonly tenantId: string;
  readonly email: string;
  /** Where the change comes from, for the event that tells the provider. */
  readonly event?: RowEventContext | undefined;
}

export interface NewSuppression extends SuppressionKey {
  /** For people who ask why: `hard bounce`, `complaint`, `legal hold`. */
  readonly reason: string;
}

/**
 * From the commit on, no call that begins says that this address is subscribed, whatever its consent; the provider is told by an event of the
 * same transaction. There need be no contact of the address. Where it is suppressed already, the first reason stays.
 * @returns whether it is new
 * @throws CodedError `MARKETING.ARGUMENT`, `MAIL.ADDRESS`, `PUBLISH.ROOT_CLIENT`
 */
export async function suppressContact(tx: TransactionClient, suppression: NewSuppression): Promise<boolean> {
  const { tenantId } = suppression;
  const email = parseAddress(suppression.email, "email");
  const reason = checkReason(suppression.reason);
  assertOutboxTransaction(tx);
  const made = await tx.$executeRaw`INSERT INTO "MarketingSuppression" ("tenantId", "emailKey", "reason")
    VALUES (${tenantId}, ${emailKeyOf(email)}, ${reason}) ON CONFLICT ("tenantId", "emailKey") DO NOTHING`;
  if (made === 1) await tellProvider(tx, suppression, email);
  return made === 1;
}

/**
 * Lets the consent of an address count again; the provider is told by an event of the same transaction.
 * @returns whether there was a suppression
 * @throws CodedError `MAIL.ADDRESS`, `PUBLISH.ROOT_CLIENT`
 */
export async function liftSuppression(tx: TransactionClient, suppression: SuppressionKey): Promise<boolean> {
  const email = parseAddress(suppression.email, "email");
  assertOutboxTransaction(tx);
  const lifted = await tx.$executeRaw`DELETE FROM "MarketingSuppression"
    WHERE "tenantId" = ${suppression.tenantId} AND "emailKey" = ${emailKeyOf(email)}`;
  if (lifted === 1) await tellProvider(tx, suppression, email);
  return lifted === 1;
}

async function tellProvider(tx: TransactionClient, { tenantId, event }: SuppressionKey, email: string): Promise<void> {
  await publishOutboxEvent(tx, { ...event, tenantId, type: "marketing.lead.sync", payload: { email } });
}

function checkReason(reason: unknown): string {
  const text = typeof reason === "string" ? reason.trim() : "";
  if (text !== "" && text.length <= MAX_REASON_LENGTH && text.isWellFormed() && !text.includes("\u0000")) return text;
  throw new CodedError("MARKETING.ARGUMENT", `expected reason to be a text of 1 to ${MAX_REASON_LENGTH} characters, got something else`, {
    facts: { field: "reason" },
  });
}
