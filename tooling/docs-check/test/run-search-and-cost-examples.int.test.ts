import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Consumer, Delivery } from "@toolctrl/consumer/define";
import { createDatabase, type Database } from "@toolctrl/db/client";
import type { AiCostDay } from "@toolctrl/domain/ai-costs";
import type { SearchResult } from "@toolctrl/domain/search";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { exampleOf, runExample } from "../src/examples.ts";
import { ROOT } from "../src/repository.ts";

const SEARCH = "docs/guides/search.md";
const COSTS = "docs/guides/ai-costs.md";

let database: Database;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  database = await createDatabase({ url, poolMax: 5, app: "test", wakeup: false });
  vi.stubGlobal("prisma", database.prisma);
  vi.stubGlobal("tenantId", "acme");
});

afterAll(async () => {
  vi.unstubAllGlobals();
  await database.close();
});

beforeEach(() => database.pool.query(`DELETE FROM "OutboxEvent"`));

async function consumerOf(file: string, maker: string): Promise<Consumer> {
  const module = (await import(pathToFileURL(join(ROOT, "apps/worker-general/src/consumers", file)).href)) as Record<
    string,
    (deps: { pool: Database["pool"] }) => Consumer
  >;
  const make = module[maker];
  if (make === undefined) throw new Error(`expected ${file} to export ${maker}`);
  return make({ pool: database.pool });
}

/** Hands each published event to the consumer, twice. */
async function consume(consumer: Consumer): Promise<void> {
  const { rows } = await database.pool.query<Pick<Delivery, "eventId" | "type" | "payload"> & { position: string }>(
    `SELECT "id" AS "eventId", "eventType" AS "type", "payload", "position"::text AS "position" FROM "OutboxEvent" e ORDER BY e."position"`,
  );
  for (const { position, ...event } of [...rows, ...rows]) {
    const envelope = { position } as Delivery["envelope"];
    const signal = new AbortController().signal;
    const delivery = { ...event, tenantId: "acme", effectEpoch: 0, envelope, failures: 0, maxAttempts: 1, signal };
    expect(await consumer.handle(delivery)).toMatchObject({ kind: "done" });
  }
}

test("what the guide to the search publishes is found by what it searches with, and no more once it is deleted", async () => {
  const consumer = await consumerOf("create-search-consumer.ts", "createSearchConsumer");
  const { createLeadSearch } = (await runExample(exampleOf(SEARCH, "createLeadSearch"))) as {
    createLeadSearch: (deps: { pool: Database["pool"] }) => { find(tenantId: string, query: string, page: number): Promise<SearchResult> };
  };
  const search = createLeadSearch({ pool: database.pool });
  await runExample(exampleOf(SEARCH, "search.index.upsert"));
  await consume(consumer);
  expect(await search.find("acme", "red bicycle", 0)).toMatchObject({
    hits: [
      {
        recordId: "7",
        title: "Ann Smith",
        snippet: "Wants two <mark>red</mark> <mark>bicycles</mark> before May",
        attributes: { stage: "open" },
      },
    ],
    more: false,
  });
  expect((await search.find("somebody-else", "red bicycle", 0)).hits).toEqual([]);
  await runExample(exampleOf(SEARCH, "search.index.delete"));
  await consume(consumer);
  expect((await search.find("acme", "red bicycle", 0)).hits).toEqual([]);
});

test("what the guide to costs publishes is in the sums that it reads, once for the same call", async () => {
  const consumer = await consumerOf("create-ai-cost-consumer.ts", "createAiCostConsumer");
  const { createBilling } = (await runExample(exampleOf(COSTS, "createBilling"))) as {
    createBilling: (deps: { pool: Database["pool"] }) => { march(tenantId: string): Promise<AiCostDay[]> };
  };
  const publish = exampleOf(COSTS, "ai.cost.recorded");
  await runExample(publish);
  await runExample(publish);
  await consume(consumer);
  expect(await createBilling({ pool: database.pool }).march("acme")).toEqual([
    {
      day: "2027-03-02",
      model: "openai/small",
      currency: "USD",
      amount: "0.000125",
      entries: "1",
      repeats: "0",
      inputTokens: "412",
      outputTokens: "38",
    },
  ]);
});
