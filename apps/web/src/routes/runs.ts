import { EXECUTION_STATUSES } from "@toolctrl/foundation/workflows";
import { listExecutions, readExecution, type ExecutionKey } from "@toolctrl/workflow/executions";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import type { ApiDeps } from "../api-deps.ts";
import { callerOf } from "../http/caller.ts";
import { causeOf } from "../http/request-context.ts";
import { requestKeyOf } from "../http/request-key.ts";
import { readBody, readParams, readQuery } from "../http/read-request.ts";
import { idParams, runBody } from "../http/shapes.ts";

const retryBody = z.strictObject({ nodeId: z.string() });
const runsQuery = z.strictObject({
  workflowId: z.uuid().optional(),
  status: z.enum(EXECUTION_STATUSES).optional(),
  before: z.uuid().optional(),
});

/** Runs of workflows. Starting and repeating only publish: a worker executes them. */
export function runRoutes(api: FastifyInstance, { database: { pool }, service }: ApiDeps): void {
  api.post("/workflows/:id/runs", async (request, reply) => {
    const { id: workflowId } = readParams(idParams, request);
    const { input } = readBody(runBody, request);
    const { tenantId } = callerOf(request);
    const requestKey = requestKeyOf(request);
    const cause = causeOf(request);
    const { execution, duplicate } = await service.run({ tenantId, workflowId, startedBy: "api", input, requestKey, ...cause });
    return reply.code(202).send({ run: execution, duplicate });
  });

  api.get("/runs", async (request) => {
    const filter = readQuery(runsQuery, request);
    return { runs: await listExecutions(pool, { tenantId: callerOf(request).tenantId, ...filter }) };
  });

  api.get("/runs/:id", async (request) => ({ run: await readExecution(pool, runKeyOf(request)) }));

  api.post("/runs/:id/cancel", async (request) => {
    const key = runKeyOf(request);
    await service.cancel({ ...key, ...causeOf(request) });
    return { run: await readExecution(pool, key) };
  });

  api.post("/runs/:id/retry", async (request, reply) => {
    const { nodeId } = readBody(retryBody, request);
    return reply.code(202).send(await service.retryFrom({ ...runKeyOf(request), nodeId, ...causeOf(request) }));
  });
}

function runKeyOf(request: FastifyRequest): ExecutionKey {
  return { tenantId: callerOf(request).tenantId, executionId: readParams(idParams, request).id };
}
