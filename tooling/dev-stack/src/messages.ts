import { EFFECT_KINDS, type EffectKind } from "./effect-kinds.ts";

/** Each message carries its key where the sinks look for it. */
const MESSAGES = {
  mail: (key: string) => ({
    type: "mail.message.send",
    payload: {
      to: "customer@example.com",
      subject: "Your subscription {{ key }}",
      text: "Hello {{ name }}, your plan is active.",
      html: "<p>Hello {{ name }}, your plan is active.</p>",
      data: { key, name: "Ann <Admin>" },
    },
  }),
  webhook: (key: string) => ({ type: "webhook.subscription.updated", payload: { key, status: "active" } }),
  notification: (key: string) => ({
    type: "notification.message.create",
    payload: { recipientId: "user-1", title: `Plan changed ${key}`, body: "Your plan is active." },
  }),
  audit: (key: string) => ({
    type: "audit.entry.record",
    payload: { actor: "user-1", action: "subscription.update", object: "Subscription", recordId: key, data: { plan: "pro" } },
  }),
} as const;

export type MessageKind = keyof typeof MESSAGES;

/** Whether one published message is all that an effect of this kind needs. */
export function isMessageKind(kind: EffectKind): kind is MessageKind {
  return Object.hasOwn(MESSAGES, kind);
}

export const MESSAGE_KINDS = EFFECT_KINDS.filter(isMessageKind);

/** The event that asks for one effect of a kind, under a key. */
export function messageFor(kind: MessageKind, key: string, runId: string, tenantId: string) {
  return { ...MESSAGES[kind](key), tenantId, correlationId: runId };
}
