import { z } from "zod";

const MAX_ATTRIBUTES_LENGTH = 32_768;

const collection = z
  .string()
  .regex(/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/)
  .max(64)
  .describe("What kind of record, for example `lead`: lowercase words joined by hyphens, at most 64 characters");
const recordId = z.string().min(1).max(190).describe("Which record of the collection");

/** A record as people shall find it; consumed by `search-index`. */
export const searchUpsertSchema = z
  .strictObject({
    collection,
    recordId,
    title: z.string().min(1).max(500).describe("Plain text; a match here comes before every match in the body alone"),
    body: z.string().max(200_000).default("").describe("Plain text"),
    language: z
      .string()
      .regex(/^[a-z][a-z_]{0,62}$/)
      .default("simple")
      .describe("A text search configuration of the server: `english`, `german` …; `simple` takes words as they are"),
    attributes: z
      .record(z.string(), z.json())
      .refine((value) => JSON.stringify(value).length <= MAX_ATTRIBUTES_LENGTH, { error: "expected at most 32768 characters of JSON" })
      .default({})
      .describe("Comes back with every hit and is not searched; at most 32768 characters of JSON"),
  })
  .describe("A record is to be found by the search: its whole document, which replaces the one before.");

/** A record that nobody shall find any more; consumed by `search-index`. */
export const searchDeleteSchema = z
  .strictObject({ collection, recordId })
  .describe("A record is to be found no longer: its document goes, and an older upsert that comes late does not bring it back.");
