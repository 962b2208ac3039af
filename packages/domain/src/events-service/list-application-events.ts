import type { OutboxTransaction } from "@toolctrl/db/outbox";
import type { ApplicationEvent, ApplicationEventSubject } from "./application-event.ts";
import { checkUuid } from "./event-argument.ts";

/** How many one call gives at most. */
export const MAX_LISTED_EVENTS = 200;

export interface ApplicationEventQuery extends ApplicationEventSubject {
  /** The id of the last event that was listed: those before it are the next page. */
  readonly before?: string | undefined;
}

const LIST = `SELECT "id"::text AS "id", "tenantId", "type", "object", "recordId", "actor", "source", "data", "createdAt"
FROM "ApplicationEvent"
WHERE "tenantId" = $1::text AND "object" = $2::text AND "recordId" = $3::text AND ($4::uuid IS NULL OR "id" < $4::uuid)
ORDER BY "id" DESC LIMIT ${MAX_LISTED_EVENTS}`;

/**
 * What happened to a record of a tenant, newest first, at most {@link MAX_LISTED_EVENTS}.
 *
 * Lock: none. Index: `ApplicationEvent_record_idx`, read backwards.
 * @throws CodedError `PUBLISH.ARGUMENT` when `before` is no id
 */
export async function listApplicationEvents(
  db: Pick<OutboxTransaction, "$queryRawUnsafe">,
  query: ApplicationEventQuery,
): Promise<ApplicationEvent[]> {
  const { tenantId, object, recordId, before } = query;
  if (before !== undefined) checkUuid(before, "before");
  return db.$queryRawUnsafe<ApplicationEvent[]>(LIST, tenantId, object, recordId, before ?? null);
}
