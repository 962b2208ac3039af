import { z } from "zod";
import { assertEventType } from "./event-type.ts";
import { CodedError } from "./errors.ts";
import { aiCostRecordedSchema } from "./events/ai-costs.ts";
import { formSubmissionReceivedSchema, formSubmittedWebhookSchema } from "./events/forms.ts";
import { marketingLeadSyncSchema, marketingLeadUnsubscribeSchema, marketingLeadUpsertSchema } from "./events/marketing.ts";
import { pluginCapabilityUseSchema, pluginHookSchema } from "./events/plugins.ts";
import { searchDeleteSchema, searchUpsertSchema } from "./events/search.ts";
import { ragDeleteSchema, ragUpsertSchema } from "./events/rag.ts";
import { workflowContinueRequestedSchema, workflowExecutionRequestedSchema, workflowTriggerEventSchema } from "./events/workflows.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import { listSchemaProblems, problemLines } from "./schema-problems.ts";

export { aiCostRecordedSchema } from "./events/ai-costs.ts";
export { formSubmissionReceivedSchema, formSubmittedWebhookSchema } from "./events/forms.ts";
export { marketingLeadSyncSchema, marketingLeadUnsubscribeSchema, marketingLeadUpsertSchema } from "./events/marketing.ts";
export { pluginCapabilityUseSchema, pluginHookSchema, pluginNameSchema } from "./events/plugins.ts";
export { searchDeleteSchema, searchUpsertSchema } from "./events/search.ts";
export { ragDeleteSchema, ragUpsertSchema } from "./events/rag.ts";
export { workflowContinueRequestedSchema, workflowExecutionRequestedSchema, workflowTriggerEventSchema } from "./events/workflows.ts";

const address = z.string().min(3).max(320);

/** A mail, rendered from a Liquid template by the consumer `mail-render` and sent by `email-send`. The descriptions are for the docs. */
export const mailMessageSchema = z
  .strictObject({
    to: z.union([address, z.array(address).min(1).max(50)]).describe("Each entry is exactly one plain address"),
    from: address.optional().describe("Sender; without it the app's `MAIL_FROM`"),
    replyTo: address.optional().describe("Where answers go"),
    subject: z.string().min(1).max(1000).describe("Liquid; values are put in as they are"),
    text: z.string().max(200_000).optional().describe("Liquid; values are put in as they are. A mail has `text`, `html` or both"),
    html: z.string().max(200_000).optional().describe("Liquid; values are HTML-escaped"),
    data: z.record(z.string(), z.json()).default({}).describe("What the templates can see"),
  })
  .refine((mail) => mail.text !== undefined || mail.html !== undefined, {
    error: "expected a text or an html template, got neither",
    path: ["text"],
  })
  .describe("A mail, rendered from Liquid templates and sent by SMTP.");

/** An in-app notification; `recipientId` null is for everybody of the tenant. */
export const notificationMessageSchema = z
  .strictObject({
    recipientId: z.string().min(1).max(200).nullable().describe("Who sees it; null is everybody of the tenant"),
    title: z.string().min(1).max(500).describe("Plain text"),
    body: z.string().max(20_000).default("").describe("Plain text"),
  })
  .describe("An in-app notification: a row of `Notification`.");

/** An entry of the tenant's audit chain. */
export const auditEntrySchema = z
  .strictObject({
    actor: z.string().min(1).max(200).describe("Who did it"),
    action: z.string().min(1).max(200).describe("What was done"),
    object: z.string().min(1).max(200).describe("To what kind of record"),
    recordId: z.string().min(1).max(200).describe("To which record"),
    data: z.json().default(null).describe("What else is worth keeping"),
  })
  .describe("An entry of the tenant's audit chain.");

/** What a webhook endpoint receives in `data`; endpoints subscribe by event type. */
export const webhookMessageSchema = z
  .record(z.string(), z.json())
  .describe("What the tenant's webhook endpoints receive as `data`; they subscribe by event type.");

/** A lead was converted; the opportunity is the after-save effect `opportunity-create`. */
export const leadConvertedSchema = z
  .strictObject({
    object: z.literal("lead").describe("The kind of record"),
    recordId: z.uuid().describe("The lead"),
    contactId: z.uuid().describe("The contact it became"),
    companyId: z.uuid().describe("The company it belongs to"),
    opportunityName: z.string().min(1).max(200).describe("What its opportunity is called"),
  })
  .describe("A lead was converted; its opportunity is made by the after-save effect `opportunity-create`.");

/**
 * The payload type of each known event type. Product apps add theirs by module augmentation, and register a schema with
 * {@link registerOutboxEvent}; a type that is not here takes any JSON object.
 */
export interface OutboxEventPayloads {
  "mail.message.send": z.input<typeof mailMessageSchema>;
  "notification.message.create": z.input<typeof notificationMessageSchema>;
  "audit.entry.record": z.input<typeof auditEntrySchema>;
  "webhook.message.deliver": JsonObject;
  "record.lead.converted": z.input<typeof leadConvertedSchema>;
  "form.submission.received": z.input<typeof formSubmissionReceivedSchema>;
  "webhook.form.submitted": z.input<typeof formSubmittedWebhookSchema>;
  "search.index.upsert": z.input<typeof searchUpsertSchema>;
  "search.index.delete": z.input<typeof searchDeleteSchema>;
  "ai.cost.recorded": z.input<typeof aiCostRecordedSchema>;
  "marketing.lead.upsert": z.input<typeof marketingLeadUpsertSchema>;
  "marketing.lead.unsubscribe": z.input<typeof marketingLeadUnsubscribeSchema>;
  "marketing.lead.sync": z.input<typeof marketingLeadSyncSchema>;
  "plugin.hook.fired": JsonObject;
  "plugin.capability-use.recorded": z.input<typeof pluginCapabilityUseSchema>;
  "rag.index.upsert": z.input<typeof ragUpsertSchema>;
  "rag.index.delete": z.input<typeof ragDeleteSchema>;
  "workflow.trigger.event": z.input<typeof workflowTriggerEventSchema>;
  "workflow.execution.requested": z.input<typeof workflowExecutionRequestedSchema>;
  "workflow.execution.continue.requested": z.input<typeof workflowContinueRequestedSchema>;
}

/** The payload a publisher must give for event type `T`. */
export type PayloadOf<T extends string> = T extends keyof OutboxEventPayloads ? OutboxEventPayloads[T] : JsonObject;

export interface OutboxEventDefinition {
  readonly type: string;
  readonly version: number;
  readonly schema: z.ZodType;
  /** Whether the tenant may see events of this type (in webhooks, exports). */
  readonly tenantVisible: boolean;
  /** Paths of personal data, for logs and deletion. */
  readonly pii: readonly string[];
}

const definitions = new Map<string, OutboxEventDefinition>();

/**
 * Adds an event type to the catalogue of this process.
 * @throws CodedError `PUBLISH.EVENT_TYPE`; `PUBLISH.ARGUMENT` when the type is registered already with another schema.
 */
export function registerOutboxEvent(
  type: string,
  options: { schema: z.ZodType; version?: number; tenantVisible?: boolean; pii?: string[] },
): void {
  assertEventType(type);
  const known = definitions.get(type);
  if (known !== undefined && known.schema !== options.schema) {
    throw new CodedError("PUBLISH.ARGUMENT", `expected ${type} to be registered once, got a second schema`, { facts: { type } });
  }
  definitions.set(type, {
    type,
    version: options.version ?? 1,
    schema: options.schema,
    tenantVisible: options.tenantVisible ?? false,
    pii: options.pii ?? [],
  });
}

/** The definition of an event type, or undefined for a type that is not in the catalogue. */
export function findOutboxEvent(type: string): OutboxEventDefinition | undefined {
  return definitions.get(type);
}

/** All registered definitions, by type. */
export function listOutboxEvents(): OutboxEventDefinition[] {
  return [...definitions.values()].sort((a, b) => (a.type < b.type ? -1 : 1));
}

/**
 * Checks a payload against the catalogue; a type that is not in it passes as it is.
 * @throws CodedError `PUBLISH.PAYLOAD_SCHEMA` naming each path.
 */
export function checkEventPayload(type: string, payload: unknown): { version: number; payload: JsonValue } {
  const definition = definitions.get(type);
  if (definition === undefined) return { version: 1, payload: payload as JsonValue };
  const parsed = definition.schema.safeParse(payload);
  if (!parsed.success) {
    const problems = listSchemaProblems(parsed.error);
    const lines = problemLines(problems, "payload");
    throw new CodedError("PUBLISH.PAYLOAD_SCHEMA", `expected the payload of ${type} to fit its schema, got:\n${lines}`, {
      facts: { type, paths: problems.map(({ path }) => path) },
    });
  }
  return { version: definition.version, payload: parsed.data as JsonValue };
}

registerOutboxEvent("mail.message.send", { schema: mailMessageSchema, pii: ["to", "replyTo", "data"] });
registerOutboxEvent("notification.message.create", { schema: notificationMessageSchema, tenantVisible: true });
registerOutboxEvent("audit.entry.record", { schema: auditEntrySchema, pii: ["actor", "data"] });
registerOutboxEvent("webhook.message.deliver", { schema: webhookMessageSchema, tenantVisible: true });
registerOutboxEvent("record.lead.converted", { schema: leadConvertedSchema, tenantVisible: true, pii: ["opportunityName"] });
registerOutboxEvent("form.submission.received", { schema: formSubmissionReceivedSchema, tenantVisible: true });
registerOutboxEvent("webhook.form.submitted", { schema: formSubmittedWebhookSchema, tenantVisible: true, pii: ["data"] });
registerOutboxEvent("search.index.upsert", { schema: searchUpsertSchema, pii: ["title", "body", "attributes"] });
registerOutboxEvent("search.index.delete", { schema: searchDeleteSchema });
registerOutboxEvent("ai.cost.recorded", { schema: aiCostRecordedSchema });
registerOutboxEvent("marketing.lead.upsert", { schema: marketingLeadUpsertSchema, pii: ["email", "name", "attributes"] });
registerOutboxEvent("marketing.lead.unsubscribe", { schema: marketingLeadUnsubscribeSchema, pii: ["email", "reason"] });
registerOutboxEvent("marketing.lead.sync", { schema: marketingLeadSyncSchema, pii: ["email"] });
registerOutboxEvent("plugin.hook.fired", { schema: pluginHookSchema, tenantVisible: true });
registerOutboxEvent("plugin.capability-use.recorded", { schema: pluginCapabilityUseSchema, tenantVisible: true });
registerOutboxEvent("rag.index.upsert", { schema: ragUpsertSchema, pii: ["text", "title", "metadata"] });
registerOutboxEvent("rag.index.delete", { schema: ragDeleteSchema });
registerOutboxEvent("workflow.trigger.event", { schema: workflowTriggerEventSchema, pii: ["data"] });
registerOutboxEvent("workflow.execution.requested", { schema: workflowExecutionRequestedSchema });
registerOutboxEvent("workflow.execution.continue.requested", { schema: workflowContinueRequestedSchema });
