import { publishOutboxEvent } from "@toolctrl/db/outbox";
import type { JsonObject } from "@toolctrl/foundation/json";
import type { EffectKind } from "../effect-kinds.ts";
import type { SampleScope } from "../intents.ts";
import type { SampleCase } from "../sample-case.ts";

/** Each message carries its key where the effect shows it. */
const MESSAGES = {
  mail: {
    effects: ["mail-render", "email-send"],
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
    effects: ["webhook-deliver"],
    of: (key) => ({ type: "webhook.subscription.updated", payload: { key, status: "active" } }),
  },
  notification: {
    effects: ["notification-create"],
    of: (key) => ({
      type: "notification.message.create",
      payload: { recipientId: "user-1", title: `Plan changed ${key}`, body: "Your plan is active." },
    }),
  },
  audit: {
    effects: ["audit-append"],
    of: (key) => ({
      type: "audit.entry.record",
      payload: { actor: "user-1", action: "subscription.update", object: "Subscription", recordId: key, data: { plan: "pro" } },
    }),
  },
} as const satisfies Record<string, Message>;

interface Message {
  readonly effects: readonly EffectKind[];
  of(key: string): { readonly type: string; readonly payload: JsonObject };
}

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
