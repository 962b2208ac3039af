import { CodedError, describeError } from "@toolctrl/foundation/errors";
import { EXECUTION_STATUSES } from "@toolctrl/foundation/workflows";
import { uuidv7 } from "uuidv7";
import { z } from "zod";
import type { ExecutionKey } from "../executions/execution.ts";
import type { RunEnd } from "../runner/run-execution.ts";
import { BRIDGE_HEADERS, signBridgeRequest } from "./bridge-signature.ts";
import type { Executor } from "./executor.ts";

export interface BridgeSettings {
  /** Where the web app listens for the bridge, without a path. */
  readonly url: string;
  /** Shared with the web app, at least 32 characters. */
  readonly secret: string;
  /** For one request, ms. A run that takes longer goes on with the next one. */
  readonly deadlineMs: number;
}

export const BRIDGE_PATH = "/internal/workflow/executions";

/** Many times the longest answer. What is longer comes from something else than the bridge, and a worker must not hold it. */
const MAX_ANSWER_BYTES = 4096;

/** What the bridge is asked: to run, or go on with, a run that a trigger, a person or an answer has made due. */
export const bridgeRequestSchema = z.strictObject({ type: z.literal("trigger"), tenantId: z.string().min(1), executionId: z.uuid() });

/** What it answers. */
export const bridgeAnswerSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("ended"), status: z.enum(EXECUTION_STATUSES) }),
  z.strictObject({ kind: z.literal("waiting") }),
  z.strictObject({ kind: z.literal("busy"), waitMs: z.number().nonnegative() }),
  z.strictObject({ kind: z.literal("interrupted") }),
]);

/**
 * Has the web app run it. The steps are recorded there as here, so a request whose answer is lost is asked again.
 *
 * An address of the installation's own, from its environment: the client for addresses that tenants name would refuse it.
 */
export function createBridgeExecutor({ url, secret, deadlineMs }: BridgeSettings): Executor {
  return {
    async execute(key, signal) {
      const target = new URL(BRIDGE_PATH, url);
      const body = JSON.stringify({ type: "trigger", ...key } satisfies z.input<typeof bridgeRequestSchema>);
      const answer = await send(target, {
        headers: signedHeaders(target, body, secret),
        body,
        signal: AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]),
      });
      return parseAnswer(answer, key);
    },
  };
}

function signedHeaders(target: URL, body: string, secret: string): Record<string, string> {
  const parts = { method: "POST", path: target.pathname, timestamp: String(Date.now()), nonce: uuidv7(), body };
  return {
    "content-type": "application/json",
    "accept-encoding": "identity",
    [BRIDGE_HEADERS.timestamp]: parts.timestamp,
    [BRIDGE_HEADERS.nonce]: parts.nonce,
    [BRIDGE_HEADERS.signature]: signBridgeRequest(parts, secret),
  };
}

async function send(target: URL, init: Pick<RequestInit, "headers" | "body" | "signal">): Promise<string> {
  let status: number;
  try {
    const response = await fetch(target, { ...init, method: "POST", redirect: "error" });
    if (response.status === 200) return await readAnswer(response);
    status = response.status;
    await response.body?.cancel();
  } catch (error) {
    throw new CodedError("WORKFLOW.BRIDGE", `expected the web app at ${target.origin} to answer, got ${describeError(error, 300)}`, {
      cause: error,
    });
  }
  throw new CodedError("WORKFLOW.BRIDGE", `expected the web app at ${target.origin} to answer 200, got ${status}`, { facts: { status } });
}

/** `fetch` inflates what comes compressed, without bound, so that is refused unread. */
async function readAnswer({ headers, body }: Response): Promise<string> {
  const encoding = headers.get("content-encoding");
  if (encoding !== null) {
    await body?.cancel();
    throw new Error(`an answer in the encoding ${encoding}`);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new Error(`an answer of more than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseAnswer(text: string, { executionId }: ExecutionKey): RunEnd {
  try {
    return bridgeAnswerSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new CodedError("WORKFLOW.BRIDGE", `expected the web app to say how run ${executionId} was left, got another answer`, {
      cause: error,
    });
  }
}
