import { listApplicationEvents } from "@toolctrl/domain/events-service";
import { readRow } from "@toolctrl/domain/rows";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { ApiDeps } from "../api-deps.ts";
import { callerOf } from "../http/caller.ts";
import { readParams, readQuery } from "../http/read-request.ts";
import { rowNotFound } from "../http/row-not-found.ts";

const params = z.object({ table: z.string(), id: z.string() });
const beforeQuery = z.strictObject({ before: z.uuid().optional() });

/** What happened to a row, newest first; of one that was deleted, too. */
export function recordEventRoutes(api: FastifyInstance, { database }: ApiDeps): void {
  api.get("/tables/:table/rows/:id/events", async (request) => {
    const key = { tenantId: callerOf(request).tenantId, ...readParams(params, request) };
    const { before } = readQuery(beforeQuery, request);
    // First, as it checks the key; and a row may have no event that tells of it.
    const row = await readRow(database.prisma, key);
    const query = { tenantId: key.tenantId, object: key.table, recordId: key.id, before };
    const events = await listApplicationEvents(database.prisma, query);
    if (row === null && events.length === 0 && before === undefined) throw rowNotFound(key);
    return { events };
  });
}
