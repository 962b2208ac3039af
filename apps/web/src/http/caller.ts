import type { Database } from "@toolctrl/db/client";
import { findApiKey } from "@toolctrl/domain/api-keys";
import { CodedError } from "@toolctrl/foundation/errors";
import type { FastifyRequest } from "fastify";

/** Who sends a request. */
export interface Caller {
  readonly tenantId: string;
  /** `key:` and the name of the key. */
  readonly actor: string;
}

const callers = new WeakMap<FastifyRequest, Caller>();

/**
 * A hook that finds out who sends a request, before its body is read.
 * @throws CodedError `API.KEY` for a key that is not there, was revoked, or never was; the three look alike
 */
export function createAuthenticate(pool: Database["pool"]): (request: FastifyRequest) => Promise<void> {
  return async (request) => {
    const key = /^Bearer ([\w-]{1,200})$/i.exec(request.headers.authorization ?? "")?.[1];
    const found = key === undefined ? null : await findApiKey(pool, key);
    if (found === null) throw new CodedError("API.KEY", "expected the key of a tenant as bearer token, got none that counts");
    callers.set(request, { tenantId: found.tenantId, actor: `key:${found.name}` });
  };
}

/** Who sent a request of an authenticated route. */
export function callerOf(request: FastifyRequest): Caller {
  const caller = callers.get(request);
  if (caller === undefined) throw new TypeError("expected the route to be authenticated, it is not");
  return caller;
}
