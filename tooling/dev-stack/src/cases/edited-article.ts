import type { Database } from "@toolctrl/db/client";
import { publishOutboxEvents } from "@toolctrl/db/outbox";
import { randomUUID } from "node:crypto";
import type { PrismaTx, SampleScope } from "../intents.ts";
import type { SampleCase } from "../sample-case.ts";

/**
 * An article that is written, edited, and found: by search and by retrieval. A draft beside it is written and thrown away: none of its
 * documents may be left, in whatever order its events come.
 */
export const editedArticle: SampleCase = {
  name: "edited article",
  effects: { "search-index": 1, "rag-index": 1 },
  async write(tx, scope, key) {
    return publishArticle(tx, scope, key, "A first draft.");
  },
  async follow(scope, key) {
    const { prisma }: Database = scope.database;
    const draft = randomUUID();
    const edited = await prisma.$transaction((tx) => publishArticle(tx, scope, key, "The edited text.\n\nIt has a second paragraph."));
    const written = await prisma.$transaction((tx) => publishArticle(tx, scope, draft, "Nobody will read this."));
    return edited + written + (await prisma.$transaction((tx) => throwAway(tx, scope, draft)));
  },
};

async function publishArticle(tx: PrismaTx, { tenantId, runId }: SampleScope, key: string, text: string): Promise<number> {
  const title = `Article ${key}`;
  const record = { collection: "article", recordId: key };
  const event = { tenantId, correlationId: runId };
  await publishOutboxEvents(tx, [
    { ...event, type: "search.index.upsert", payload: { ...record, title, body: text, language: "english" } },
    { ...event, type: "rag.index.upsert", payload: { ...record, title, text, language: "english" } },
  ]);
  return 2;
}

async function throwAway(tx: PrismaTx, { tenantId, runId }: SampleScope, key: string): Promise<number> {
  const payload = { collection: "article", recordId: key };
  const event = { tenantId, correlationId: runId };
  await publishOutboxEvents(tx, [
    { ...event, type: "search.index.delete", payload },
    { ...event, type: "rag.index.delete", payload },
  ]);
  return 2;
}
