import type { EventContext } from "@toolctrl/domain/events-service";
import type { FastifyRequest } from "fastify";
import { callerOf } from "./caller.ts";

/** What a request does, its key has done: the tenant's endpoints are called, and whom it names is told. */
export function requestContext(request: FastifyRequest, notify: readonly string[] | undefined): EventContext {
  return { kind: "request", actor: callerOf(request).actor, notify };
}
