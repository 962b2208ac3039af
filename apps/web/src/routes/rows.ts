import { transaction } from "@toolctrl/db/client";
import { outboxTransactionOf } from "@toolctrl/db/outbox";
import { readRow, rowCreate, rowDelete, rowUpdate, type RowKey } from "@toolctrl/domain/rows";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import type { ApiDeps } from "../api-deps.ts";
import { callerOf } from "../http/caller.ts";
import { readBody, readParams } from "../http/read-request.ts";
import { originOf } from "../http/request-context.ts";
import { rowNotFound } from "../http/row-not-found.ts";
import { jsonObject, notifyIds } from "../http/shapes.ts";

const tableParams = z.object({ table: z.string() });
const rowParams = z.object({ table: z.string(), id: z.string() });
const newRow = z.strictObject({
  data: jsonObject,
  parent: z.strictObject({ table: z.string(), id: z.string() }).optional(),
  notify: notifyIds,
});
const changedRow = z.strictObject({ data: jsonObject, notify: notifyIds });
const deletedRow = z.strictObject({ notify: notifyIds }).default({});

/** Rows of the tenant's tables: each change is one transaction with the events that tell of it. */
export function rowRoutes(api: FastifyInstance, { database }: ApiDeps): void {
  const { pool, prisma } = database;

  api.post("/tables/:table/rows", async (request, reply) => {
    const { table } = readParams(tableParams, request);
    const { notify, ...row } = readBody(newRow, request);
    const { tenantId } = callerOf(request);
    const origin = originOf(request, notify);
    const change = await transaction(pool, (tx) => rowCreate(outboxTransactionOf(tx), { tenantId, table, ...row, ...origin }));
    return reply.code(201).send(change);
  });

  api.get("/tables/:table/rows/:id", async (request) => {
    const key = rowKeyOf(request);
    const row = await readRow(prisma, key);
    if (row === null) throw rowNotFound(key);
    return { row };
  });

  api.patch("/tables/:table/rows/:id", async (request) => {
    const key = rowKeyOf(request);
    const { notify, data } = readBody(changedRow, request);
    const origin = originOf(request, notify);
    return transaction(pool, (tx) => rowUpdate(outboxTransactionOf(tx), { ...key, data, ...origin }));
  });

  api.delete("/tables/:table/rows/:id", async (request) => {
    const key = rowKeyOf(request);
    const origin = originOf(request, readBody(deletedRow, request).notify);
    const deleted = await transaction(pool, (tx) => rowDelete(outboxTransactionOf(tx), { ...key, ...origin }));
    return { deleted };
  });
}

function rowKeyOf(request: FastifyRequest): RowKey {
  return { tenantId: callerOf(request).tenantId, ...readParams(rowParams, request) };
}
