import { EFFECT_KINDS, type EffectKind, type Intent, type Observed } from "./effect-kinds.ts";

export interface Comparison {
  /** Effects seen once, by kind. */
  readonly effects: Record<EffectKind, number>;
  /** Keys whose effect is not there (yet). */
  readonly missing: string[];
  /** Keys with more effects than intended; those of transactions that never committed among them. */
  readonly doubled: string[];
}

/** Holds the ledger of intents against what the world has seen. */
export function compare(intents: readonly Intent[], observed: Observed): Comparison {
  const effects = Object.fromEntries(EFFECT_KINDS.map((kind) => [kind, 0])) as Record<EffectKind, number>;
  const missing: string[] = [];
  const doubled: string[] = [];
  for (const { key, kind, expected } of intents) {
    const seen = observed[kind].get(key) ?? 0;
    if (seen > 0) effects[kind] += 1;
    if (seen < expected) missing.push(`${kind} ${key}`);
    if (seen > expected) doubled.push(`${kind} ${key}`);
  }
  return { effects, missing, doubled };
}
