import { randomUUID } from "node:crypto";
import { createDatabase, transaction, type Database } from "@toolctrl/db/client";
import type { Queryable } from "@toolctrl/db/sql";
import { vectorOf } from "@toolctrl/testkit/embeddings-peer";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { chunksOf, indexDocument, planDocument, removeDocument, type Embeddings, type IndexReport } from "../src/rag.ts";
import { rowsOf } from "./support.ts";

export const TENANT = "tenant-a";

/** A migrated database for the tests of a file, without documents when each begins. */
export function useDatabase(): () => Database {
  let close: () => Promise<void>;
  let database: Database;
  beforeAll(async () => {
    const { url, drop } = await createTestDatabase();
    database = await createDatabase({ url, poolMax: 10, app: "rag-test", wakeup: false });
    close = async () => {
      await database.close(1000);
      await drop();
    };
  });
  beforeEach(() => database.pool.query(`TRUNCATE "RagDocument" CASCADE`));
  afterAll(() => close());
  return () => database;
}

const SIZES = { maxCharacters: 200, overlapCharacters: 20 };

/** Embeddings whose angles the texts name; `asked` is every text that they were asked for. */
export interface KnownEmbeddings extends Embeddings {
  readonly model: string;
  readonly asked: string[];
}

export function knownEmbeddings(model = "known"): KnownEmbeddings {
  const asked: string[] = [];
  return {
    model,
    asked,
    embed(texts) {
      asked.push(...texts);
      return Promise.resolve(texts.map(vectorOf));
    },
  };
}

export interface Change {
  readonly text: string;
  readonly position: number | string;
  readonly tenantId?: string;
  readonly collection?: string;
  readonly recordId?: string;
  readonly title?: string;
  readonly language?: string;
  readonly metadata?: Record<string, string>;
  readonly eventId?: string;
  readonly effectEpoch?: number;
}

/** Where the change of a document stands between its embeddings and its transaction. */
export type Between = () => Promise<void>;

function partsOf({
  tenantId = TENANT,
  collection = "article",
  recordId = "1",
  eventId = randomUUID(),
  effectEpoch = 0,
  position,
}: Omit<Change, "text">) {
  return { key: { tenantId, collection, recordId }, event: { eventId, effectEpoch, position: String(position) } };
}

/** An upsert as the consumer does it: plan, embed, write. `between` happens before the transaction. */
export async function upsert(database: Database, embeddings: Embeddings, change: Change, between?: Between): Promise<IndexReport> {
  const { key, event } = partsOf(change);
  const { text, title = "", language = "simple", metadata = {} } = change;
  const document = { ...key, title, language, metadata, chunks: chunksOf(text, SIZES), model: embeddings.model };
  const missing = await planDocument(database.pool, document, event, embeddings.model);
  const answers = missing.size === 0 ? [] : await embeddings.embed([...missing.values()]);
  const vectors = new Map([...missing.keys()].map((hash, index) => [hash, answers[index] ?? []] as const));
  await between?.();
  return transaction(database.pool, (tx) => indexDocument(tx, { ...document, vectors }, event));
}

export function remove(database: Database, change: Omit<Change, "text">): Promise<IndexReport> {
  const { key, event } = partsOf(change);
  return transaction(database.pool, (tx: Queryable) => removeDocument(tx, key, event));
}

/** What the table has for a record. */
export async function documentOf(database: Database, recordId = "1", tenantId = TENANT): Promise<Record<string, unknown> | undefined> {
  const [row] = await rowsOf(
    database,
    `SELECT "title", "language", "metadata", "appliedPosition"::text AS "position", "effectEpoch", "revision", "deletedAt" IS NOT NULL AS "deleted",
       (SELECT coalesce(string_agg(left(c."text", 4), ',' ORDER BY c."ordinal"), '') FROM "RagChunk" c
        WHERE c."tenantId" = d."tenantId" AND c."collection" = d."collection" AND c."recordId" = d."recordId") AS "chunks"
     FROM "RagDocument" d WHERE "tenantId" = $1 AND "recordId" = $2`,
    [tenantId, recordId],
  );
  return row;
}

export interface ChunkRow {
  readonly id: string;
  readonly ordinal: number;
  readonly text: string;
  readonly embedding: number[] | null;
  readonly model: string | null;
  readonly words: string;
  /** Changes with every write of the row. */
  readonly version: string;
}

export async function chunkRows({ pool }: Database, recordId = "1", tenantId = TENANT): Promise<ChunkRow[]> {
  const { rows } = await pool.query<ChunkRow>(
    `SELECT "id", "ordinal", "text", "embedding", "model", "words"::text AS "words", xmin::text AS "version"
     FROM "RagChunk" WHERE "tenantId" = $1 AND "recordId" = $2 ORDER BY "ordinal"`,
    [tenantId, recordId],
  );
  return rows;
}

/** The numbers of a vector as a table holds them; what it gives back is written shorter. */
export function asHeld(vector: readonly number[] | null): number[] | null {
  return vector === null ? null : vector.map(Math.fround);
}

/** A paragraph that is a chunk by itself: no two of them fit into one. `name` has four characters. */
export function paragraph(name: string): string {
  return `${name} ${"says the same thing over and over again, ".repeat(3)}${name}\n\n`;
}
