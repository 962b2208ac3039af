import { publishOutboxEvents, type OutboxTransaction } from "@toolctrl/db/outbox";
import type { RowEventContext } from "../rows/row.ts";
import { applyRules, type DueAction } from "./apply-rules.ts";
import { eventsOfActions } from "./events-of-actions.ts";
import type { FormKey } from "./form.ts";
import { leadOfSubmission } from "./lead-of-submission.ts";
import { loadSubmission } from "./load-submission.ts";
import type { RouteAction } from "./route-schema.ts";

export interface SubmissionRouting extends FormKey {
  /** Which repeat of the routing; 0 but for a deliberate one. */
  readonly effectEpoch: number;
  /** What the events that it publishes say of where they come from. */
  readonly event: RowEventContext;
}

export interface RoutedSubmission {
  readonly leadId: string | null;
  readonly leadCreated: boolean;
  /** The rules that applied, in their order. */
  readonly rules: readonly string[];
  /** How many events were published for them; a lead's own is not among them. */
  readonly events: number;
}

const MARK = `UPDATE "FormSubmission" SET "routedAt" = coalesce("routedAt", clock_timestamp()), "leadId" = coalesce("leadId", $2::uuid)
WHERE "id" = $1::uuid`;

/**
 * Does what a form's rules say about a submission, all of it in the caller's transaction or nothing: finds or creates the lead, publishes
 * mails, webhooks and notifications, marks the submission. The first lead action that applies is the submission's lead.
 *
 * Locks are taken in one order by everybody: the lead's source key, then the dispatch keys of the events, sorted, then the submission.
 * Nothing else is held when the source key is waited for, so two submissions of one person never wait in a circle.
 * @throws CodedError `FORM.NOT_FOUND`, `FORM.ROUTE`, `LEAD.CONFLICT`, and what publishing throws
 */
export async function routeSubmission(tx: OutboxTransaction, routing: SubmissionRouting): Promise<RoutedSubmission> {
  const { effectEpoch, event } = routing;
  const { submission, form, routes } = await loadSubmission(tx, routing);
  const actions = applyRules(routes, submission.data);
  const leadAction = actions.find(isLead);
  const lead = leadAction === undefined ? null : await leadOfSubmission(tx, leadAction, { form, submission, event });
  const leadId = lead?.id ?? null;
  const events = eventsOfActions(actions, { form, submission, leadId, effectEpoch });
  const { tenantId } = submission;
  if (events.length > 0) {
    await publishOutboxEvents(
      tx,
      events.map((each) => ({ ...each, ...event, tenantId })),
    );
  }
  await tx.$executeRawUnsafe(MARK, submission.id, leadId);
  return { leadId, leadCreated: lead?.created === true, rules: [...new Set(actions.map(({ ruleId }) => ruleId))], events: events.length };
}

function isLead(due: DueAction): due is DueAction<Extract<RouteAction, { type: "lead" }>> {
  return due.action.type === "lead";
}
