/**
 * The effects the sample traffic asks for, by the consumer that has them, in the order they are shown. A test compares them with the
 * product's consumers.
 */
export const EFFECT_KINDS = [
  "mail-render",
  "email-send",
  "webhook-deliver",
  "marketing-sync",
  "notification-create",
  "audit-append",
  "search-index",
  "rag-index",
  "ai-cost-record",
  "form-route",
  "plugin-fanout",
  "plugin-invoke",
  "plugin-capability-count",
  "workflow-trigger",
  "field-sets",
  "opportunity-create",
] as const;
export type EffectKind = (typeof EFFECT_KINDS)[number];

/** How many effects of each kind something has. */
export type EffectCounts = Readonly<Partial<Record<EffectKind, number>>>;

/** How often each key was seen in the world: distinct effects, by kind. */
export type Observed = Record<EffectKind, ReadonlyMap<string, number>>;

/** A business intent: `expected` effects of a kind under a key; 0 for what was rolled back, suppressed, overwritten or must die. */
export interface Intent {
  readonly key: string;
  readonly kind: EffectKind;
  readonly expected: number;
}
