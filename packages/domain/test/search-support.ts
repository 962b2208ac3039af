import { randomUUID } from "node:crypto";
import { transaction, type Database } from "@toolctrl/db/client";
import { applySearchChange, type SearchChange } from "../src/search.ts";
import { rowsOf } from "./support.ts";

export interface DocumentParts {
  tenantId?: string;
  collection?: string;
  recordId?: string;
  title?: string;
  body?: string;
  language?: string;
  attributes?: Record<string, string | number>;
  /** A decimal text where a number is not exact. */
  position?: number | string;
  eventId?: string;
}

export const TENANT = "acme";

/** Writes the document of an upsert, as the consumer does; whether it was applied. */
export function upsert(database: Database, parts: DocumentParts): Promise<boolean> {
  const { title = "Title", body = "", language = "english", attributes = {} } = parts;
  return apply(database, parts, { kind: "upsert", ...keyOf(parts), title, body, language, attributes });
}

export function remove(database: Database, parts: DocumentParts): Promise<boolean> {
  return apply(database, parts, { kind: "delete", ...keyOf(parts) });
}

function keyOf({ collection = "lead", recordId = "1" }: DocumentParts): { collection: string; recordId: string } {
  return { collection, recordId };
}

function apply(database: Database, parts: DocumentParts, change: SearchChange): Promise<boolean> {
  const { tenantId = TENANT, position = 1, eventId = randomUUID() } = parts;
  return transaction(database.pool, (tx) =>
    applySearchChange(tx, { tenantId, eventId, effectEpoch: 0, position: String(position) }, change),
  );
}

/** What the table has for a record. */
export async function documentOf(database: Database, recordId: string, tenantId = TENANT): Promise<Record<string, unknown> | undefined> {
  const [row] = await rowsOf(
    database,
    `SELECT "title", "body", "attributes", "appliedPosition"::text AS "position", "deletedAt" IS NOT NULL AS "deleted"
     FROM "SearchDocument" WHERE "tenantId" = $1 AND "recordId" = $2`,
    [tenantId, recordId],
  );
  return row;
}
