import type { ApplicationEvent } from "@toolctrl/domain/events-service";
import type { Row } from "@toolctrl/domain/rows";
import { expect, test, vi } from "vitest";
import { exampleOf, runExample } from "../src/examples.ts";
import { give, openDatabase } from "./given.ts";

const GUIDE = "docs/guides/application-events.md";
const RUN_ID = "0190a0a0-0000-7000-8000-0000000000f0";

test("the examples on application events tell those of whom the guide speaks, and list what happened", async () => {
  const { database } = await openDatabase();
  give({
    prisma: database.prisma,
    database,
    tenantId: "acme",
    userId: "ann",
    executionId: RUN_ID,
    request: { body: { stage: "new" } },
  });

  const { row } = (await runExample(exampleOf(GUIDE, "rowCreate"))) as { row: Row };
  vi.stubGlobal("id", row.id);
  await runExample(exampleOf(GUIDE, "rowUpdate"));
  await runExample(exampleOf(GUIDE, "publishApplicationEvent"));
  const { rows } = await database.pool.query<{ eventType: string }>(`SELECT "eventType" FROM "OutboxEvent" e ORDER BY e."position"`);
  expect(rows.map(({ eventType }) => eventType)).toEqual([
    "record.deal.created",
    "workflow.trigger.event",
    "webhook.row.created",
    "notification.message.create",
    "record.deal.updated",
    "workflow.trigger.event",
    "workflow.trigger.event",
    "webhook.billing.invoice.paid",
  ]);
  const { happened } = (await runExample(exampleOf(GUIDE, "listApplicationEvents"))) as { happened: ApplicationEvent[] };
  expect(happened).toMatchObject([
    {
      type: "row.updated",
      source: "workflow",
      actor: RUN_ID,
      data: { before: { data: { stage: "new" } }, after: { data: { stage: "won" } } },
    },
    { type: "row.created", source: "request", actor: "ann", data: { after: { id: row.id } } },
  ]);
});
