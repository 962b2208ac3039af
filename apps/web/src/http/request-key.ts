import type { FastifyRequest } from "fastify";
import { wrong } from "./read-request.ts";

const MAX_KEY_LENGTH = 200;

/**
 * The caller's own key of a request, in `Idempotency-Key`: a second request with it changes nothing.
 * @throws CodedError `API.ARGUMENT`
 */
export function requestKeyOf({ headers }: FastifyRequest): string | undefined {
  const key = headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (typeof key === "string" && key !== "" && key.length <= MAX_KEY_LENGTH) return key;
  throw wrong("header", [{ path: "idempotency-key", message: `expected one text of 1 to ${MAX_KEY_LENGTH} characters` }]);
}
