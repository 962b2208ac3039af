import { randomUUID } from "node:crypto";
import { convertLead, createLead } from "@toolctrl/domain/leads";
import { rowCreate, rowUpdate } from "@toolctrl/domain/rows";
import type { EffectKind } from "./effect-kinds.ts";
import { writeIntent, type PrismaTx, type SampleScope } from "./intents.ts";
import type { MessageKind } from "./messages.ts";

type RecordKind = Exclude<EffectKind, MessageKind>;

/** Changes records whose events have after-save effects. @returns how many events that published */
export function changeRecord(scope: SampleScope, kind: RecordKind): Promise<number> {
  return kind === "field-set" ? renameOrder(scope) : convertTwice(scope);
}

/** The same writes in one transaction, for one that is rolled back. */
export async function writeRecords(tx: PrismaTx, scope: SampleScope, keys: Record<RecordKind, string>): Promise<void> {
  await addOrder(tx, scope, keys["field-set"]);
  const leadId = await addLead(tx, scope, keys.opportunity);
  await convertLead(tx, { tenantId: scope.tenantId, leadId, event: { correlationId: scope.runId } });
}

/** An order below an account, then another name for it. Its account ends up with the second name: the first event may come late, not last. */
async function renameOrder(scope: SampleScope): Promise<number> {
  const { database, tenantId, runId } = scope;
  const [first, second] = [randomUUID(), randomUUID()];
  const id = await database.prisma.$transaction(async (tx) => {
    await writeIntent(tx, { key: first, kind: "field-set", expected: 0 }, scope);
    return addOrder(tx, scope, first);
  });
  await database.prisma.$transaction(async (tx) => {
    await writeIntent(tx, { key: second, kind: "field-set", expected: 1 }, scope);
    await rowUpdate(tx, { tenantId, table: "order", id, data: { name: `Order ${second}` }, event: { correlationId: runId } });
  });
  return 3;
}

async function addOrder(tx: PrismaTx, { tenantId, runId }: SampleScope, key: string): Promise<string> {
  const event = { correlationId: runId };
  const { row: account } = await rowCreate(tx, { tenantId, table: "account", data: { name: "An account" }, event });
  const parent = { table: "account", id: account.id };
  const { row: order } = await rowCreate(tx, { tenantId, table: "order", data: { name: `Order ${key}` }, parent, event });
  return order.id;
}

/** Two conversions of one lead at once, as after a double click: one opportunity. */
async function convertTwice(scope: SampleScope): Promise<number> {
  const { database, tenantId, runId } = scope;
  const leadId = await database.prisma.$transaction(async (tx) => {
    const key = randomUUID();
    await writeIntent(tx, { key, kind: "opportunity", expected: 1 }, scope);
    return addLead(tx, scope, key);
  });
  const convert = (tx: PrismaTx) => convertLead(tx, { tenantId, leadId, event: { correlationId: runId } });
  await Promise.all([database.prisma.$transaction(convert), database.prisma.$transaction(convert)]);
  return 2;
}

/** The conversion names the opportunity after the lead's company, which has the key. */
function addLead(tx: PrismaTx, { tenantId, runId }: SampleScope, key: string): Promise<string> {
  return createLead(tx, { tenantId, name: "Ann", companyName: `Company ${key}`, event: { correlationId: runId } });
}
