import { DEPTH_HEADER } from "@toolctrl/foundation/envelope";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { ApiDeps } from "../api-deps.ts";
import { listCredentials } from "../credentials/list-credentials.ts";
import { storeCredential } from "../credentials/store-credential.ts";
import { callerOf } from "../http/caller.ts";
import { readBody } from "../http/read-request.ts";

const headerName = z
  .string()
  .max(200)
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, { error: "expected the name of a header: letters, digits and hyphens" })
  // The run's own: they tell a repeated call from a new one, and a loop from a beginning.
  .refine((name) => !["idempotency-key", DEPTH_HEADER].includes(name.toLowerCase()), {
    error: "expected another header than Idempotency-Key and Toolctrl-Depth",
  });

const newCredential = z.strictObject({
  name: z.string().min(1).max(200),
  header: headerName,
  secret: z
    .string()
    .min(1)
    .max(8000)
    .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, { error: "expected printable ASCII without blanks around it" }),
});

/** What a stored credential adds to the requests of a step. A secret that was stored is never told again. */
export function credentialRoutes(api: FastifyInstance, { database: { pool }, credentialsKey }: ApiDeps): void {
  api.post("/credentials", async (request, reply) => {
    const given = readBody(newCredential, request);
    const { tenantId } = callerOf(request);
    const credential = await storeCredential(pool, { tenantId, ...given }, credentialsKey);
    return reply.code(201).send({ credential });
  });

  api.get("/credentials", async (request) => ({ credentials: await listCredentials(pool, callerOf(request).tenantId) }));
}
