import type { Prisma } from "@toolctrl/db/client";
import type { FieldAssignment } from "./assign-fields.ts";

/**
 * Sets fields as of an event's position; a field that a younger event has set already stays as it is.
 *
 * Lock: the fields, in the order (rowId, field); the rows are held by the caller. The guard is judged again after a wait for a rival, on
 * what the rival wrote. A crash here costs nothing.
 */
export async function writeFields(
  tx: Prisma.TransactionClient,
  position: bigint,
  assignments: ReadonlyArray<Omit<FieldAssignment, "kind"> & { readonly isLookup: boolean }>,
): Promise<void> {
  await tx.$executeRawUnsafe(
    `INSERT INTO "RowField" ("rowId", "field", "value", "lookupId", "appliedPosition")
     SELECT a."rowId", a."field", CASE WHEN a."isLookup" THEN NULL ELSE coalesce(a."value", 'null'::jsonb) END, a."lookupId", $2::bigint
     FROM jsonb_to_recordset($1::jsonb) AS a("rowId" uuid, "field" text, "value" jsonb, "lookupId" uuid, "isLookup" boolean)
     ORDER BY a."rowId", a."field"
     ON CONFLICT ("rowId", "field") DO UPDATE
     SET "value" = EXCLUDED."value", "lookupId" = EXCLUDED."lookupId", "appliedPosition" = EXCLUDED."appliedPosition"
     WHERE "RowField"."appliedPosition" < EXCLUDED."appliedPosition"`,
    JSON.stringify(assignments),
    position,
  );
}
