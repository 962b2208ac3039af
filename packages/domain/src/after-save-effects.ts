import type { AfterSaveEffect, NamedEffect } from "@toolctrl/db/after-save-effect";
import type { EffectName } from "@toolctrl/foundation/consumers";
import { createFieldSetEffect, ROW_FIELD_SETS, type FieldSet } from "./field-sets.ts";
import { opportunityCreate } from "./leads.ts";

/** Exactly the effects of the table of consumers: one left out, or one too many, does not compile. */
export type Effects = { readonly [Name in EffectName]: NamedEffect<Name> };

/**
 * The product's after-save effects, in the order in which they run. The one that draws a number comes last: its counter is held until the
 * attempt ends.
 */
export function afterSaveEffects(options: { readonly fieldSets?: readonly FieldSet[] } = {}): readonly AfterSaveEffect[] {
  const effects: Effects = {
    "field-sets": createFieldSetEffect(options.fieldSets ?? ROW_FIELD_SETS),
    "opportunity-create": opportunityCreate,
  };
  return Object.values(effects);
}
