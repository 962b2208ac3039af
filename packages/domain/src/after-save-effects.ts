import type { AfterSaveEffect } from "@toolctrl/db/after-save-effect";
import { createFieldSetEffect, ROW_FIELD_SETS, type FieldSet } from "./field-sets.ts";
import { opportunityCreate } from "./leads.ts";

/**
 * The product's after-save effects, in the order in which they run. The one that draws a number comes last: its counter is held until the
 * attempt ends.
 */
export function afterSaveEffects(options: { readonly fieldSets?: readonly FieldSet[] } = {}): readonly AfterSaveEffect[] {
  return [createFieldSetEffect(options.fieldSets ?? ROW_FIELD_SETS), opportunityCreate];
}
