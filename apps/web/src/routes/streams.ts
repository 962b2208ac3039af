import { isCodedError } from "@toolctrl/foundation/errors";
import type { ExecutionView } from "@toolctrl/workflow/executions";
import type { FastifyInstance } from "fastify";
import type { ApiDeps } from "../api-deps.ts";
import { apiErrorOf } from "../http/api-error.ts";
import { callerOf } from "../http/caller.ts";
import { openEventStream, type EventStream } from "../http/event-stream.ts";
import { readBody, readParams, wrong } from "../http/read-request.ts";
import { causeOf } from "../http/request-context.ts";
import { requestKeyOf } from "../http/request-key.ts";
import { idParams, runBody } from "../http/shapes.ts";

/** The one way to a run that this process executes itself. A reader that goes away ends nothing. */
export function streamRoutes(api: FastifyInstance, { streams, log }: ApiDeps): void {
  api.post("/workflows/:id/stream", async (request, reply) => {
    const { id: workflowId } = readParams(idParams, request);
    const { input } = readBody(runBody, request);
    if (requestKeyOf(request) !== undefined) {
      throw wrong("header", [{ path: "idempotency-key", message: "expected none: a run that is there already cannot be streamed" }]);
    }
    const cause = causeOf(request);
    let events: EventStream | undefined;
    let latest: ExecutionView | undefined;
    const onView = (run: ExecutionView): Promise<void> => {
      events ??= openEventStream(reply);
      events.offer("run", { run });
      latest = run;
      return Promise.resolve();
    };
    try {
      await streams.start({ tenantId: callerOf(request).tenantId, workflowId, input, ...cause }, onView);
      events?.end("end", { run: endOf(latest) });
    } catch (error) {
      // Nothing was sent yet: it is answered as any other.
      if (events === undefined) throw error;
      log.error({ err: error, executionId: latest?.id, code: isCodedError(error) ? error.code : null }, "a streamed run was lost");
      events.end("end", { run: endOf(latest), ...apiErrorOf(error).body });
    }
    return reply;
  });
}

/** How a run was left: at its end, or waiting for a person or a time, from where a worker goes on. */
function endOf(view: ExecutionView | undefined) {
  return view === undefined ? null : { id: view.id, status: view.status, reasonCode: view.reasonCode, reason: view.reason };
}
