import type { NamedEffect } from "@toolctrl/db/after-save-effect";
import { assignFields } from "./assign-fields.ts";
import type { FieldSet } from "./field-set.ts";
import { holdRows } from "./hold-rows.ts";
import { writeFields } from "./write-fields.ts";

/**
 * The after-save effect of all field sets. One effect, not one for each set: it holds all its rows in one statement and one order, and
 * so never waits in a circle with a cascade.
 *
 * A row that is gone gets no field, and a lookup of a row that is gone is set to nothing: both end like the event that came in time and
 * was followed by the deletion. A row that is being deleted fails the attempt with 55P03, a lock time-out like any other.
 */
export function createFieldSetEffect(sets: readonly FieldSet[]): NamedEffect<"field-sets"> {
  return {
    name: "field-sets",
    on: ["record."],
    async run(tx, event) {
      const assignments = assignFields(sets, event);
      if (assignments.length === 0) return;
      const wanted = new Set(assignments.flatMap(({ rowId, lookupId }) => (lookupId === null ? [rowId] : [rowId, lookupId])));
      const held = await holdRows(tx, event.tenantId, [...wanted]);
      const kept = assignments.filter(({ rowId }) => held.has(rowId));
      if (kept.length === 0) return;
      await writeFields(
        tx,
        event.position,
        kept.map(({ rowId, field, value, lookupId, kind }) => ({
          rowId,
          field,
          value,
          lookupId: lookupId !== null && held.has(lookupId) ? lookupId : null,
          isLookup: kind === "lookup",
        })),
      );
    },
  };
}
