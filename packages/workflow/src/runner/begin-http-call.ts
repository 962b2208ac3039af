import { DEPTH_HEADER } from "@toolctrl/foundation/envelope";
import { CodedError } from "@toolctrl/foundation/errors";
import type { GuardedRequest } from "@toolctrl/runtime/guarded-http";
import { uuidv7 } from "uuidv7";
import type { BlockRun } from "../blocks/block-run.ts";
import { renderJson, renderText, renderUrl } from "../templates.ts";
import type { RunnerDeps } from "./deps.ts";
import type { Step } from "./step.ts";
import type { RunVariables } from "./variables.ts";
import { beginCall } from "./write-steps.ts";

/** A call that has begun, and is to be made now. */
export interface BegunCall {
  readonly step: Step;
  /** The fence: only who holds it may settle the call. */
  readonly token: string;
  readonly request: GuardedRequest;
  readonly successStatuses: readonly number[] | null;
}

const MAX_RESPONSE_BYTES = 256 * 1024;

/**
 * Makes the request of a step and marks it as calling, the last thing before it leaves. Every try carries the same `Idempotency-Key`: run, step,
 * turn and epoch, and how deep what comes of it is, so that a loop through somebody's API ends too.
 * @throws CodedError `WORKFLOW.TEMPLATE`; `WORKFLOW.UNSUPPORTED_BLOCK` when it needs a credential and there is no access to any
 */
export async function beginHttpCall(deps: RunnerDeps, run: BlockRun<"httpRequest">): Promise<BegunCall> {
  const { tx, execution, node, step, variables } = run;
  const { method, timeoutSeconds, successStatuses, credentialId } = node.config;
  const headers = {
    ...headersOf(node.config, variables),
    ...(credentialId === undefined ? {} : await openCredential(deps, run, credentialId)),
    "idempotency-key": `${execution.id}-${step.nodeId}-${step.iteration}-${step.retryEpoch}`,
    [DEPTH_HEADER]: String(execution.depth + 1),
  };
  const body = bodyOf(node.config, variables);
  const request = {
    method,
    url: renderUrl(node.config.url, variables),
    headers,
    deadlineMs: timeoutSeconds * 1000,
    maxResponseBytes: MAX_RESPONSE_BYTES,
  };
  const token = uuidv7();
  await beginCall(tx, step.id, token);
  return { step, token, successStatuses: successStatuses ?? null, request: body === null ? request : { ...request, body } };
}

type Config = BlockRun<"httpRequest">["node"]["config"];

/** Names in lowercase; a body of JSON says so itself. */
function headersOf({ headers = {}, body }: Config, variables: RunVariables): Record<string, string> {
  const own = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), renderText(value, variables)]);
  const type = body === undefined ? {} : { "content-type": "json" in body ? "application/json" : "text/plain; charset=utf-8" };
  return { ...type, ...Object.fromEntries(own) };
}

function bodyOf({ body }: Config, variables: RunVariables): string | null {
  if (body === undefined) return null;
  return "json" in body ? JSON.stringify(renderJson(body.json, variables)) : renderText(body.text, variables);
}

async function openCredential(
  deps: RunnerDeps,
  { tx, execution, node }: BlockRun<"httpRequest">,
  credentialId: string,
): Promise<Record<string, string>> {
  if (deps.credentials === null) {
    const why = `expected every block of the run to need no credential here, got ${node.id}, an httpRequest with one`;
    throw new CodedError("WORKFLOW.UNSUPPORTED_BLOCK", why, { facts: { nodeId: node.id, block: node.block } });
  }
  const { name, value } = await deps.credentials.open(tx, { tenantId: execution.tenantId, credentialId });
  return { [name.toLowerCase()]: value };
}
