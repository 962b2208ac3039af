import { z } from "zod";

const MAX_METADATA_LENGTH = 32_768;

const collection = z
  .string()
  .regex(/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/)
  .max(64)
  .describe("What kind of record, for example `article`: lowercase words joined by hyphens, at most 64 characters");
const recordId = z.string().min(1).max(190).describe("Which record of the collection");

/** A record whose text shall be retrieved; consumed by `rag-index`. */
export const ragUpsertSchema = z
  .strictObject({
    collection,
    recordId,
    text: z.string().max(1_000_000).describe("Plain text, cut into chunks at its paragraphs and sentences; an empty one has no chunks"),
    title: z.string().max(500).default("").describe("Comes back with every chunk and is not searched"),
    language: z
      .string()
      .regex(/^[a-z][a-z_]{0,62}$/)
      .default("simple")
      .describe(
        "A text search configuration of the server, for chunks without a vector: `english`, `german` …; `simple` takes words as they are",
      ),
    metadata: z
      .record(z.string(), z.json())
      .refine((value) => JSON.stringify(value).length <= MAX_METADATA_LENGTH, { error: "expected at most 32768 characters of JSON" })
      .default({})
      .describe("Comes back with every chunk and is not searched; at most 32768 characters of JSON"),
  })
  .describe("A record's text is to be retrieved: its whole document, which replaces the one before.");

/** A record whose text shall be retrieved no longer; consumed by `rag-index`. */
export const ragDeleteSchema = z
  .strictObject({ collection, recordId })
  .describe("A record is to be retrieved no longer: its chunks go, and an older upsert that comes late does not bring them back.");
