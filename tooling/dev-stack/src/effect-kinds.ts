/** The kinds of effect the sample traffic asks for, in the order they are shown. The last two are after-save effects. */
export const EFFECT_KINDS = ["mail", "webhook", "notification", "audit", "field-set", "opportunity"] as const;
export type EffectKind = (typeof EFFECT_KINDS)[number];

/** How often each key was seen in the world: distinct effects, by kind. */
export type Observed = Record<EffectKind, ReadonlyMap<string, number>>;

/** A business intent: `expected` effects of a kind under a key; 0 for what was rolled back, suppressed, overwritten or must die. */
export interface Intent {
  readonly key: string;
  readonly kind: EffectKind;
  readonly expected: number;
}
