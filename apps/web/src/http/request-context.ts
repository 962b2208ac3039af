import type { EventContext } from "@toolctrl/domain/events-service";
import { DEPTH_HEADER, MAX_DEPTH } from "@toolctrl/foundation/envelope";
import type { FastifyRequest } from "fastify";
import { callerOf } from "./caller.ts";
import { wrong } from "./read-request.ts";

/**
 * Where what a request writes comes from. What it does, its key has done: the tenant's endpoints are called, and whom it names is told.
 * @throws CodedError `API.ARGUMENT`
 */
export function originOf(
  request: FastifyRequest,
  notify: readonly string[] | undefined,
): { readonly context: EventContext; readonly event: ReturnType<typeof causeOf> } {
  return { context: { kind: "request", actor: callerOf(request).actor, notify }, event: causeOf(request) };
}

/**
 * What led to a request, for the events that tell of it: a request made because of a call of ours says how deep it is, as the call did.
 * @throws CodedError `API.ARGUMENT`
 */
export function causeOf({ headers }: FastifyRequest): { readonly depth: number } {
  const given = headers[DEPTH_HEADER] ?? "0";
  const depth = typeof given === "string" && /^\d{1,4}$/.test(given) ? Number(given) : MAX_DEPTH + 1;
  if (depth <= MAX_DEPTH) return { depth };
  throw wrong("header", [
    { path: DEPTH_HEADER, message: `expected a whole number from 0 to ${MAX_DEPTH}, as the call that led here said` },
  ]);
}
