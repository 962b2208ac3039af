import { transaction } from "@toolctrl/db/client";
import { outboxTransactionOf } from "@toolctrl/db/outbox";
import { createForm, readForm, submitForm, type NewForm } from "@toolctrl/domain/forms";
import { CodedError } from "@toolctrl/foundation/errors";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { ApiDeps } from "../api-deps.ts";
import { callerOf } from "../http/caller.ts";
import { readBody, readParams } from "../http/read-request.ts";
import { originOf } from "../http/request-context.ts";
import { idParams, jsonObject, notifyIds } from "../http/shapes.ts";

// What is inside them the form itself checks, to the last template.
const newForm = z.strictObject({ name: z.string(), fields: z.array(z.unknown()), routes: z.array(z.unknown()).optional() });
const newSubmission = z.strictObject({ data: jsonObject, submissionKey: z.string().optional(), notify: notifyIds });

/** Forms, and what people send through them. */
export function formRoutes(api: FastifyInstance, { database: { pool, prisma } }: ApiDeps): void {
  api.post("/forms", async (request, reply) => {
    const definition = readBody(newForm, request) as Omit<NewForm, "tenantId">;
    const { tenantId } = callerOf(request);
    const form = await transaction(pool, (tx) => createForm(outboxTransactionOf(tx), { tenantId, ...definition }));
    return reply.code(201).send({ form });
  });

  api.get("/forms/:id", async (request) => {
    const { id } = readParams(idParams, request);
    const form = await readForm(prisma, { tenantId: callerOf(request).tenantId, id });
    if (form === null) throw new CodedError("FORM.NOT_FOUND", `expected a form ${id}, got none`, { facts: { what: "form", id } });
    return { form };
  });

  api.post("/forms/:id/submissions", async (request, reply) => {
    const { id: formId } = readParams(idParams, request);
    const { notify, ...sent } = readBody(newSubmission, request);
    const { tenantId } = callerOf(request);
    const origin = originOf(request, notify);
    const submitted = await transaction(pool, (tx) => submitForm(outboxTransactionOf(tx), { tenantId, formId, ...sent, ...origin }));
    return reply.code(submitted.duplicate ? 200 : 201).send(submitted);
  });
}
