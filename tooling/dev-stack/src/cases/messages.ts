import { publishOutboxEvent } from "@toolctrl/db/outbox";
import type { JsonObject } from "@toolctrl/foundation/json";
import type { EffectCounts } from "../effect-kinds.ts";
import type { SampleScope } from "../intents.ts";
import type { SampleCase } from "../sample-case.ts";

interface Message {
  readonly effects: EffectCounts;
  of(key: string): { readonly type: string; readonly payload: JsonObject };
}

/** Each message carries its key where the effect shows it. */
const MESSAGES = {
  mail: {
    effects: { "mail-render": 1, "email-send": 1 },
    of: (key) => ({
      type: "mail.message.send",
      payload: {
        to: "customer@example.com",
        subject: "Your subscription {{ key }}",
        text: "Hello {{ name }}, your plan is active.",
        html: "<p>Hello {{ name }}, your plan is active.</p>",
        data: { key, name: "Ann <Admin>" },
      },
    }),
  },
  webhook: {
    effects: { "webhook-deliver": 1 },
    of: (key) => ({ type: "webhook.subscription.updated", payload: { key, status: "active" } }),
  },
  notification: {
    effects: { "notification-create": 1 },
    of: (key) => ({
      type: "notification.message.create",
      payload: { recipientId: "user-1", title: `Plan changed ${key}`, body: "Your plan is active." },
    }),
  },
  billing: {
    effects: { "notification-create": 1 },
    of: (key) => ({
      type: "billing.invoice.paid",
      payload: { invoice: key, notification: { recipientId: "user-1", title: `Invoice ${key} is paid` } },
    }),
  },
  trial: {
    effects: { "notification-create": 1 },
    of: (key) => ({
      type: "tenant.subscription.trial-ended",
      payload: { subscription: key, notification: { recipientId: null, title: `The trial ${key} has ended` } },
    }),
  },
  audit: {
    effects: { "audit-append": 1 },
    of: (key) => ({
      type: "audit.entry.record",
      payload: { actor: "user-1", action: "subscription.update", object: "Subscription", recordId: key, data: { plan: "pro" } },
    }),
  },
  aiCost: {
    effects: { "ai-cost-record": 1 },
    of: (key) => ({
      type: "ai.cost.recorded",
      payload: { model: `sample/${key}`, amount: "0.000125", currency: "EUR", inputTokens: 900, outputTokens: 120 },
    }),
  },
  marketing: {
    effects: { "marketing-sync": 1 },
    of: (key) => ({
      type: "marketing.lead.upsert",
      payload: { email: `${key}@example.com`, name: "Ann", consent: "granted", consentSource: "sample product" },
    }),
  },
  pluginHook: {
    // The tenant's two sample plugins, one a function and one called over HTTP, are asked both.
    effects: { "plugin-fanout": 2, "plugin-invoke": 2 },
    of: (key) => ({ type: "plugin.hook.subscription.updated", payload: { key } }),
  },
  capabilityUse: {
    effects: { "plugin-capability-count": 1 },
    of: (key) => ({ type: "plugin.capability-use.recorded", payload: { pluginId: "sample", capability: key, amount: 1 } }),
  },
} as const satisfies Record<string, Message>;

export type MessageName = keyof typeof MESSAGES;

/** The event that asks for the effects of a message, under a key. */
export function messageFor(name: MessageName, { tenantId, runId }: SampleScope, key: string) {
  return { ...(MESSAGES[name] as Message).of(key), tenantId, correlationId: runId };
}

/** A changed subscription of which one message tells. */
export const messageCases: readonly SampleCase[] = Object.entries(MESSAGES).map(([name, { effects }]) => ({
  name,
  effects,
  async write(tx, scope, key) {
    const { runId, tenantId } = scope;
    await tx.$executeRaw`INSERT INTO sample.subscription (id, "runId", "tenantId", plan, status) VALUES (${key}::uuid, ${runId}::uuid, ${tenantId}, 'pro', 'active')`;
    await publishOutboxEvent(tx, messageFor(name as MessageName, scope, key));
    return 1;
  },
}));
