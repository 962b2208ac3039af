import type { ConsumerName } from "@toolctrl/foundation/consumers";
import type { ConsumerMap, NamedTests, QueuesWithoutEvents } from "./entry.ts";

export type { ConsumerMap, ConsumerMapEntry, EffectKind, OutOfScope, Protection } from "./entry.ts";

const IN = { in: true } as const;

/** What each consumer is put through. One of these that is gone is as bad as one that fails. */
const DELIVERIES = [
  "delivered twice in sequence, and once more when the first delivery is forgotten",
  "delivered twice at once: only one of them has its effect, and no attempt is used",
  "killed after each of its outside calls, and inside its handler",
  "without its protection there are two effects, and they are seen",
];

/** Every consumer of the product, what it does to the world, what keeps that from happening twice, and where that is shown. */
export const CONSUMER_MAP: ConsumerMap = {
  "mail-render": {
    queue: "outbox.mail",
    prefixes: ["mail."],
    does: "renders a mail and stores it with its recipients and the intent to send it",
    effect: "database",
    protection: "natural-key",
    source: "apps/worker-mail/src/mail-render.ts",
    evidence: evidenceOf("mail-render", "worker-mail"),
    scope: IN,
  },
  "email-send": {
    queue: "toolctrl.email",
    prefixes: ["mail."],
    does: "sends the stored mail by SMTP to each recipient who has not been settled",
    effect: "mail",
    protection: "idempotency-claim",
    source: "apps/worker-mail/src/email-send.ts",
    evidence: evidenceOf("email-send", "worker-mail"),
    scope: IN,
  },
  "webhook-deliver": {
    queue: "outbox.webhook",
    prefixes: ["webhook."],
    does: "posts the event, signed, to each endpoint subscribed to it",
    effect: "webhook",
    protection: "idempotency-claim",
    source: "apps/worker-mail/src/webhook-deliver.ts",
    evidence: evidenceOf("webhook-deliver", "worker-mail"),
    scope: IN,
  },
  "marketing-sync": {
    queue: "outbox.marketing",
    prefixes: ["marketing.lead."],
    does: "updates a marketing contact and tells the marketing provider",
    effect: "provider",
    protection: "provider-key",
    source: "apps/worker-mail/src/marketing-sync.ts",
    evidence: evidenceOf("marketing-sync", "worker-mail"),
    scope: IN,
  },
  "notification-create": {
    queue: "outbox.notification",
    prefixes: ["tenant.subscription.", "notification.", "billing."],
    does: "writes a notification for a user, or for all of a tenant's",
    effect: "database",
    protection: "transactional-receipt",
    source: "apps/worker-general/src/consumers/create-notification-consumer.ts",
    evidence: evidenceOf("notification-create", "worker-general"),
    scope: IN,
  },
  "audit-append": {
    queue: "outbox.audit",
    prefixes: ["audit."],
    does: "appends an entry to the tenant's audit chain",
    effect: "database",
    protection: "transactional-receipt",
    source: "apps/worker-general/src/consumers/create-audit-consumer.ts",
    evidence: evidenceOf("audit-append", "worker-general"),
    scope: IN,
  },
  "search-index": {
    queue: "outbox.search-index",
    prefixes: ["search.index."],
    does: "writes or deletes the record's document of the full-text index",
    effect: "database",
    protection: "transactional-receipt",
    source: "apps/worker-general/src/consumers/create-search-consumer.ts",
    evidence: evidenceOf("search-index", "worker-general"),
    scope: IN,
  },
  "rag-index": {
    queue: "outbox.rag-index",
    prefixes: ["rag.index."],
    does: "writes or deletes the record's document of retrieval, its changed chunks with embeddings",
    effect: "database",
    protection: "transactional-receipt",
    source: "apps/worker-general/src/consumers/create-rag-consumer.ts",
    evidence: evidenceOf("rag-index", "worker-general"),
    scope: IN,
  },
  "ai-cost-record": {
    queue: "outbox.ai-cost",
    prefixes: ["ai.cost."],
    does: "adds a line to the ledger of AI costs and its amount to the day's sum",
    effect: "database",
    protection: "transactional-receipt",
    source: "apps/worker-general/src/consumers/create-ai-cost-consumer.ts",
    evidence: evidenceOf("ai-cost-record", "worker-general"),
    scope: IN,
  },
  "form-route": {
    queue: "outbox.form-submission-route",
    prefixes: ["form.submission."],
    does: "finds or creates the submission's lead and publishes what its form's rules ask for",
    effect: "database",
    protection: "transactional-receipt",
    source: "apps/worker-general/src/consumers/create-form-route-consumer.ts",
    evidence: evidenceOf("form-route", "worker-general"),
    scope: IN,
  },
  "plugin-fanout": {
    queue: "outbox.plugin-hook",
    prefixes: ["plugin.hook."],
    does: "adds one job for each enabled subscription to the hook",
    effect: "database",
    protection: "natural-key",
    source: "apps/worker-general/src/consumers/create-plugin-fanout-consumer.ts",
    evidence: evidenceOf("plugin-fanout", "worker-general"),
    scope: IN,
  },
  "plugin-invoke": {
    queue: "toolctrl.plugin-invoke",
    prefixes: ["plugin.hook."],
    does: "calls one plugin: its function, or its endpoint by signed HTTP",
    effect: "connector",
    protection: "idempotency-claim",
    source: "apps/worker-general/src/consumers/create-plugin-invoke-consumer.ts",
    evidence: evidenceOf("plugin-invoke", "worker-general"),
    scope: IN,
  },
  "plugin-capability-count": {
    queue: "outbox.plugin-capability-use",
    prefixes: ["plugin.capability-use."],
    does: "counts a use of a plugin's capability against its quota",
    effect: "database",
    protection: "transactional-receipt",
    source: "apps/worker-general/src/consumers/create-plugin-capability-consumer.ts",
    evidence: evidenceOf("plugin-capability-count", "worker-general"),
    scope: IN,
  },
  "workflow-trigger": {
    queue: "outbox.workflow",
    prefixes: ["workflow."],
    does: "starts a run of each workflow that an event matches, and runs it step by step",
    effect: "steps",
    protection: "recorded-steps",
    source: "apps/worker-general/src/consumers/create-workflow-consumer.ts",
    evidence: evidenceOf("workflow-trigger", "worker-general"),
    scope: IN,
  },
  "field-sets": {
    queue: "database",
    prefixes: ["record."],
    does: "sets the fields of rows that follow from the saved one",
    effect: "database",
    protection: "deterministic-set",
    source: "packages/domain/src/field-sets/create-field-set-effect.ts",
    evidence: evidenceOf("field-sets", "worker-general"),
    scope: IN,
  },
  "opportunity-create": {
    queue: "database",
    prefixes: ["record."],
    does: "makes the opportunity of a converted lead, with its number",
    effect: "database",
    protection: "natural-key",
    source: "packages/domain/src/leads/opportunity-create.ts",
    evidence: evidenceOf("opportunity-create", "worker-general"),
    scope: IN,
  },
};

/** Every other queue. */
export const QUEUES_WITHOUT_EVENTS: QueuesWithoutEvents = {
  "toolctrl.maintenance": {
    does: "deletes what can no longer decide anything, and sends events out again whose jobs the queue has lost",
    reason: "its jobs come from a schedule; a second run finds nothing left to do",
  },
};

function evidenceOf(name: ConsumerName, app: "worker-general" | "worker-mail"): NamedTests {
  return { file: `apps/${app}/test/exactly-one-effect/${name}.e2e.test.ts`, suite: `exactly one effect: ${name}`, tests: DELIVERIES };
}
