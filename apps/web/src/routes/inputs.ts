import { listOpenInputs } from "@toolctrl/workflow/executions";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { ApiDeps } from "../api-deps.ts";
import { callerOf } from "../http/caller.ts";
import { readBody, readParams, readQuery } from "../http/read-request.ts";
import { causeOf } from "../http/request-context.ts";
import { afterQuery, idParams, jsonObject } from "../http/shapes.ts";

const answerBody = z.strictObject({ value: jsonObject });

/** What runs ask of the tenant's people. The first answer counts. */
export function inputRoutes(api: FastifyInstance, { database: { pool }, service }: ApiDeps): void {
  api.get("/inputs", async (request) => {
    const { after } = readQuery(afterQuery, request);
    return { inputs: await listOpenInputs(pool, { tenantId: callerOf(request).tenantId, after }) };
  });

  api.post("/inputs/:id", async (request) => {
    const { id: inputId } = readParams(idParams, request);
    const { value } = readBody(answerBody, request);
    const { tenantId, actor } = callerOf(request);
    return { input: await service.continue({ tenantId, inputId, value, answeredBy: actor, ...causeOf(request) }) };
  });
}
