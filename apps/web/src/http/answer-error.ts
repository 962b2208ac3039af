import type { Alerts } from "@toolctrl/runtime/alerts";
import type { Logger } from "@toolctrl/runtime/logger";
import type { FastifyReply, FastifyRequest } from "fastify";
import { apiErrorOf } from "./api-error.ts";

const RETRY_AFTER_SECONDS = "1";

/** Answers an error; tells a person of a fault of ours. */
export function answerError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { alerts, log }: { alerts: Alerts; log: Logger },
): void {
  const { status, body } = apiErrorOf(error);
  // The route and not the address: that may hold what is nobody's business.
  const where = { method: request.method, route: request.routeOptions.url ?? null };
  if (status === 500) alerts.error(error, where);
  else if (status === 503) log.warn({ err: error, ...where }, "a request could not be served now");
  else log.debug({ code: body.error.code, ...where }, "a request was refused");
  if (status === 401) void reply.header("www-authenticate", "Bearer");
  if (status === 429 || status === 503) void reply.header("retry-after", RETRY_AFTER_SECONDS);
  void reply.code(status).send(body);
}
