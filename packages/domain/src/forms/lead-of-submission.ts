import type { OutboxTransaction } from "@toolctrl/db/outbox";
import type { JsonObject } from "@toolctrl/foundation/json";
import { storableText } from "@toolctrl/foundation/text";
import { addressKey } from "../leads/comparison-keys.ts";
import { findOrCreateLead, type FoundLead } from "../leads/find-or-create-lead.ts";
import { MAX_LEAD_NAME_LENGTH } from "../leads/lead-input.ts";
import type { RowEventContext } from "../rows/row.ts";
import type { DueAction } from "./apply-rules.ts";
import type { Form, FormSubmission } from "./form.ts";
import type { RouteAction } from "./route-schema.ts";

type LeadAction = Extract<RouteAction, { type: "lead" }>;

/**
 * Finds or creates the lead that a submission asks for. One person's submissions of one form share a lead; without an address each has its
 * own. Null when the fields were all left empty.
 * @throws what {@link findOrCreateLead} throws
 */
export async function leadOfSubmission(
  tx: OutboxTransaction,
  { action }: DueAction<LeadAction>,
  from: { readonly form: Pick<Form, "id" | "name">; readonly submission: FormSubmission; readonly event: RowEventContext },
): Promise<FoundLead | null> {
  const { form, submission, event } = from;
  const { data, tenantId } = submission;
  const email = textOf(data, action.email);
  const companyName = clipped(textOf(data, action.companyName));
  const name = clipped(textOf(data, action.name));
  if ((name ?? email ?? companyName) === undefined) return null;
  const sourceKey = email === undefined ? `submission:${submission.id}` : `form:${form.id}:${addressKey(email)}`;
  return findOrCreateLead(tx, { tenantId, name: name ?? clipped(email) ?? companyName ?? form.name, email, companyName, sourceKey, event });
}

function textOf(data: JsonObject, field: string | undefined): string | undefined {
  const value = field !== undefined && Object.hasOwn(data, field) ? data[field] : undefined;
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

// What people write is no reason to lose a lead.
function clipped(text: string | undefined): string | undefined {
  return text === undefined ? undefined : storableText(text, MAX_LEAD_NAME_LENGTH);
}
