import { publishOutboxEvent } from "@toolctrl/db/outbox";
import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, test } from "vitest";
import { createNoEmbeddings, purgeDeletedRagDocuments } from "../src/rag.ts";
import { remove, TENANT, upsert, useDatabase } from "./rag-support.ts";
import { rowsOf } from "./support.ts";

const databaseOf = useDatabase();
const settings = { retentionHours: 24, batchSize: 1000 };

const ageDeleted = (): Promise<unknown> =>
  databaseOf().pool.query(`UPDATE "RagDocument" SET "deletedAt" = "deletedAt" - interval '48 hours'`);

async function publish(type: string, recordId: string): Promise<number> {
  const payload = { collection: "article", recordId, ...(type.startsWith("rag.") ? { text: "t" } : { title: "t" }) };
  const { id } = await databaseOf().prisma.$transaction((tx) => publishOutboxEvent(tx, { tenantId: TENANT, type, payload }));
  const [row] = await rowsOf(databaseOf(), `SELECT "position"::int AS "position" FROM "OutboxEvent" WHERE "id" = $1`, [id]);
  return Number(row?.["position"]);
}

/** Purges until this is left. The server's own housekeeping may hold rows back for a moment. */
function purgeUntilLeft(...recordIds: string[]): Promise<unknown> {
  return waitFor(
    async () => {
      await purgeDeletedRagDocuments(databaseOf().pool, settings);
      const rows = await rowsOf(databaseOf(), `SELECT "recordId" FROM "RagDocument" ORDER BY 1`);
      return rows.map((row) => row["recordId"]).join() === recordIds.join();
    },
    { what: `${recordIds.join() || "nothing"} to be left` },
  );
}

describe("what a deleted document has left is removed", () => {
  test("when it is old; what is young or not deleted stays, with its chunks", async () => {
    await remove(databaseOf(), { recordId: "old", position: 10 });
    await ageDeleted();
    await remove(databaseOf(), { recordId: "young", position: 11 });
    await upsert(databaseOf(), createNoEmbeddings(), { recordId: "live", text: "words", position: 12 });
    await purgeUntilLeft("live", "young");
    expect(await rowsOf(databaseOf(), `SELECT "recordId" FROM "RagChunk"`)).toEqual([{ recordId: "live" }]);
  });

  test("not while an older upsert of the record is there, which somebody might requeue; one of the search holds nothing back", async () => {
    const held = await publish("rag.index.upsert", "held");
    const free = await publish("search.index.upsert", "free");
    await remove(databaseOf(), { recordId: "held", position: held + 1 });
    await remove(databaseOf(), { recordId: "free", position: free + 1 });
    await ageDeleted();
    await purgeUntilLeft("held");
    expect(await purgeDeletedRagDocuments(databaseOf().pool, settings)).toEqual({ purged: 0, kept: 1 });
    await databaseOf().pool.query(`DELETE FROM "OutboxEvent"`);
    await purgeUntilLeft();
  });
});
