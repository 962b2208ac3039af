import { CodedError } from "@toolctrl/foundation/errors";
import { BRIDGE_PATH, bridgeRequestSchema, verifyBridgeRequest } from "@toolctrl/workflow/executors";
import { runExecution, type RunEnd, type RunnerDeps } from "@toolctrl/workflow/runner";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { z } from "zod";
import type { RunsHere } from "../runs-here.ts";

/** No step is begun later: with the longest one, 30 s, the answer comes before a caller's deadline, 60 s unless it is set. */
const FOR_MS = 20_000;

export interface BridgeDeps {
  readonly secret: string;
  readonly runner: RunnerDeps;
  readonly runs: RunsHere;
}

/**
 * Where workers have runs executed that need a stored credential, or all of them: the only place that executes what a trigger, a person or an
 * answer made due. Each request is taken once, signed with the shared secret.
 */
export function bridgeRoutes(scope: FastifyInstance, { secret, runner, runs }: BridgeDeps): void {
  scope.removeAllContentTypeParsers();
  // The signature is over what came, not over what it means.
  scope.addContentTypeParser("*", { parseAs: "string" }, (_request, body, done) => done(null, body));

  scope.post(BRIDGE_PATH, async (request): Promise<RunEnd> => {
    const body = typeof request.body === "string" ? request.body : "";
    await verifyBridgeRequest(runner.pool, { method: request.method, path: request.raw.url ?? "", headers: request.headers, body }, secret);
    const { tenantId, executionId } = parse(request, body);
    const options = { forMs: FOR_MS, stopping: runs.stopping };
    return runs.track(runExecution(runner, { tenantId, executionId }, runs.ending, options));
  });
}

/** @throws CodedError `API.ARGUMENT`: whoever signed it knows the secret, but not what the bridge is for */
function parse(request: FastifyRequest, body: string): z.output<typeof bridgeRequestSchema> {
  try {
    return bridgeRequestSchema.parse(JSON.parse(body));
  } catch (cause) {
    throw new CodedError("API.ARGUMENT", `expected a request of the bridge, of type "trigger", got another`, {
      facts: { method: request.method },
      cause,
    });
  }
}
