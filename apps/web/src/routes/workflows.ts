import { transaction } from "@toolctrl/db/client";
import {
  createWorkflow,
  listWorkflows,
  loadDefinition,
  readWorkflow,
  switchWorkflow,
  updateWorkflow,
} from "@toolctrl/workflow/definitions";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import type { ApiDeps } from "../api-deps.ts";
import { callerOf } from "../http/caller.ts";
import { readBody, readParams, readQuery } from "../http/read-request.ts";
import { afterQuery, idParams, jsonObject } from "../http/shapes.ts";

// The definition itself is checked where it is kept, with every path that is wrong.
const definitionBody = z.strictObject({ definition: jsonObject });
const liveBody = z.strictObject({ live: z.boolean() });

/** What the tenant has defined; a version never changes. */
export function workflowRoutes(api: FastifyInstance, { database: { pool } }: ApiDeps): void {
  api.post("/workflows", async (request, reply) => {
    const { definition } = readBody(definitionBody, request);
    const { tenantId } = callerOf(request);
    const workflow = await transaction(pool, (tx) => createWorkflow(tx, { tenantId, definition }));
    return reply.code(201).send({ workflow });
  });

  api.get("/workflows", async (request) => {
    const { after } = readQuery(afterQuery, request);
    return { workflows: await listWorkflows(pool, { tenantId: callerOf(request).tenantId, after: after ?? null }) };
  });

  api.get("/workflows/:id", async (request) => {
    const workflow = await readWorkflow(pool, workflowKeyOf(request));
    const { definition } = await loadDefinition(pool, { workflowId: workflow.id, version: workflow.version });
    return { workflow, definition };
  });

  api.put("/workflows/:id", async (request) => {
    const { definition } = readBody(definitionBody, request);
    return { workflow: await transaction(pool, (tx) => updateWorkflow(tx, workflowKeyOf(request), definition)) };
  });

  api.post("/workflows/:id/live", async (request) => {
    const { live } = readBody(liveBody, request);
    return { workflow: await transaction(pool, (tx) => switchWorkflow(tx, workflowKeyOf(request), live)) };
  });
}

function workflowKeyOf(request: FastifyRequest) {
  return { tenantId: callerOf(request).tenantId, workflowId: readParams(idParams, request).id };
}
