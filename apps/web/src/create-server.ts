import type { Alerts } from "@toolctrl/runtime/alerts";
import type { Metrics } from "@toolctrl/runtime/metrics";
import { CodedError } from "@toolctrl/foundation/errors";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { ApiDeps } from "./api-deps.ts";
import { answerError } from "./http/answer-error.ts";
import { createAuthenticate } from "./http/caller.ts";
import { MAX_BODY_BYTES, REQUEST_MS } from "./http/limits.ts";
import { traceRequests } from "./http/trace-request.ts";
import { bridgeRoutes, type BridgeDeps } from "./routes/bridge.ts";
import { credentialRoutes } from "./routes/credentials.ts";
import { formRoutes } from "./routes/forms.ts";
import { inputRoutes } from "./routes/inputs.ts";
import { recordEventRoutes } from "./routes/record-events.ts";
import { rowRoutes } from "./routes/rows.ts";
import { runRoutes } from "./routes/runs.ts";
import { streamRoutes } from "./routes/streams.ts";
import { workflowRoutes } from "./routes/workflows.ts";

const ROUTES = [rowRoutes, recordEventRoutes, formRoutes, workflowRoutes, runRoutes, streamRoutes, inputRoutes, credentialRoutes];

export interface ServerDeps extends ApiDeps {
  /** Null where the bridge is not there. */
  readonly bridge: BridgeDeps | null;
  readonly metrics: Metrics;
  readonly alerts: Alerts;
}

/** The web server, not listening yet: the tenants' API behind their keys, and the bridge behind its signature. */
export function createServer(deps: ServerDeps): FastifyInstance {
  const onError = (error: unknown, request: FastifyRequest, reply: FastifyReply): void => answerError(error, request, reply, deps);
  // While it closes, a request on a connection that is open already is served as any other.
  const settings = { bodyLimit: MAX_BODY_BYTES, requestTimeout: REQUEST_MS, return503OnClosing: false };
  const server = fastify({ ...settings, frameworkErrors: onError });
  server.setErrorHandler(onError);
  server.setNotFoundHandler((request, reply) => onError(notFound(request), request, reply));
  traceRequests(server);
  server.addHook("onResponse", (_request, reply, done) => {
    deps.metrics.add("web_requests_total", 1, { code: String(reply.raw.statusCode) });
    done();
  });
  void server.register(
    (api, _options, done) => {
      // JSON and nothing else.
      api.removeContentTypeParser("text/plain");
      api.addHook("onRequest", createAuthenticate(deps.database.pool));
      api.addHook("onSend", (_request, reply, _payload, next) => {
        void reply.header("cache-control", "no-store");
        next();
      });
      for (const routes of ROUTES) routes(api, deps);
      done();
    },
    { prefix: "/api" },
  );
  const { bridge } = deps;
  if (bridge !== null) {
    void server.register((scope, _options, done) => {
      bridgeRoutes(scope, bridge);
      done();
    });
  }
  return server;
}

function notFound({ method }: FastifyRequest): CodedError {
  return new CodedError("API.NOT_FOUND", `expected a ${method} of something that is there, got another path`, { facts: { method } });
}
