import { assertOutboxTransaction, publishOutboxEvent, type OutboxTransaction } from "@toolctrl/db/outbox";
import type { JsonObject } from "@toolctrl/foundation/json";
import { uuidv7 } from "uuidv7";
import { checkEventContext, type EventContext } from "../events-service/event-context.ts";
import { publishApplicationEvents } from "../events-service/publish-application-events.ts";
import { findOrCreate } from "../leads/find-or-create.ts";
import type { RowEventContext } from "../rows/row.ts";
import { checkSubmission } from "./check-submission.ts";
import { checkFormKey, formArgument, isStorable } from "./form-argument.ts";
import { formNotFound } from "./form-not-found.ts";
import { SUBMISSION_COLUMNS, type Form, type FormSubmission } from "./form.ts";
import { readForm } from "./read-form.ts";
import { submittedEvent } from "./submitted-event.ts";

const MAX_KEY_LENGTH = 200;

export interface NewSubmission {
  readonly tenantId: string;
  readonly formId: string;
  readonly data: JsonObject;
  /** The submitter's own key, made once per filled-in form: a second submission with it is the first one again, whatever its data. */
  readonly submissionKey?: string | undefined;
  readonly event?: RowEventContext | undefined;
  /** What makes it; with it the submission is an application event too. */
  readonly context?: EventContext | undefined;
}

export interface SubmittedForm {
  readonly submission: FormSubmission;
  /** Whether a submission with this key was there already. Nothing was written then. */
  readonly duplicate: boolean;
}

const FIND = `SELECT ${SUBMISSION_COLUMNS} FROM "FormSubmission" WHERE "formId" = $1::uuid AND "submissionKey" = $2::text AND "tenantId" = $3::text`;
// No conflict target: whatever unique index is hit, the caller's transaction stays usable.
const INSERT = `INSERT INTO "FormSubmission" ("id", "tenantId", "formId", "formVersion", "data", "submissionKey")
VALUES ($1::uuid, $2::text, $3::uuid, $4::int, $5::jsonb, $6::text) ON CONFLICT DO NOTHING RETURNING ${SUBMISSION_COLUMNS}`;

/**
 * Takes what somebody sent through a form: checks it, stores it, and publishes `form.submission.received` in the same transaction. With a
 * key that was used before, even at the same moment, the first submission comes back. With a `context` a new one is the application
 * event `form.submitted` too.
 * Index: `FormSubmission_formId_submissionKey_key`.
 * @throws CodedError `FORM.DATA` with what is wrong in each field, `FORM.NOT_FOUND`, `FORM.ARGUMENT`, `PUBLISH.CONFLICT`,
 * `PUBLISH.ROOT_CLIENT`, `PUBLISH.ARGUMENT`
 */
export async function submitForm(tx: OutboxTransaction, input: NewSubmission): Promise<SubmittedForm> {
  const { tenantId, formId, submissionKey = null, context } = input;
  checkFormKey({ tenantId, id: formId });
  checkKey(submissionKey);
  if (context !== undefined) checkEventContext(context);
  assertOutboxTransaction(tx);
  let duplicate = true;
  const submission = await findOrCreate(
    async () =>
      submissionKey === null ? undefined : (await tx.$queryRawUnsafe<FormSubmission[]>(FIND, formId, submissionKey, tenantId))[0],
    async () => {
      const inserted = await insertSubmission(tx, input, submissionKey);
      duplicate = inserted === undefined;
      return inserted;
    },
    "PUBLISH.CONFLICT",
  );
  return { submission, duplicate };
}

async function insertSubmission(tx: OutboxTransaction, input: NewSubmission, key: string | null): Promise<FormSubmission | undefined> {
  const { tenantId, formId, event, context } = input;
  const form = await readForm(tx, { tenantId, id: formId });
  if (form === null) throw formNotFound("form", formId);
  const data = checkSubmission(form.fields, input.data);
  const values = [uuidv7(), tenantId, formId, form.version, JSON.stringify(data), key];
  const [submission] = await tx.$queryRawUnsafe<FormSubmission[]>(INSERT, ...values);
  if (submission === undefined) return undefined;
  await publishReceived(tx, form, submission, key, event);
  if (context !== undefined) await publishApplicationEvents(tx, [submittedEvent(form, submission, event)], context);
  return submission;
}

async function publishReceived(
  tx: OutboxTransaction,
  form: Form,
  { id, tenantId }: FormSubmission,
  key: string | null,
  context: RowEventContext | undefined,
): Promise<void> {
  const payload = { object: "submission" as const, recordId: id, formId: form.id, formVersion: form.version };
  const event = { ...context, tenantId, type: "form.submission.received" as const, payload, recordKey: `submission/${id}` };
  const dispatchKey = key === null ? undefined : `form:${form.id}:${key}`;
  const { duplicate } = await publishOutboxEvent(tx, { ...event, dispatchKey });
  // An earlier submission with this key was deleted, and its event is still kept: this one gets an event of its own.
  if (duplicate) await publishOutboxEvent(tx, event);
}

function checkKey(key: unknown): void {
  if (key === null || (typeof key === "string" && key !== "" && key.length <= MAX_KEY_LENGTH && isStorable(key))) return;
  throw formArgument([{ path: "submissionKey", message: `expected a text of 1 to ${MAX_KEY_LENGTH} characters` }]);
}
