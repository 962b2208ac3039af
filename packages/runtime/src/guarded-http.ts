import { CodedError, describeError, isCodedError } from "@toolctrl/foundation/errors";
import { activeTraceContext, inSpan, SpanKind, type SpanOptions } from "@toolctrl/tracing/spans";
import { Client, type Dispatcher } from "undici";
import { abortAfter, type Deadline } from "./deadline.ts";
import { createGuardedConnector } from "./guarded-connector.ts";
import { parseAllowedTargets, type AllowedTargets } from "./public-address.ts";

export interface GuardedRequest {
  /** Absolute, http or https, without credentials. */
  readonly url: string;
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent byte for byte. */
  readonly body?: string | Uint8Array;
  /** For everything: DNS, connection, TLS, headers and body. */
  readonly deadlineMs: number;
  /** What is kept of the body; the rest is not read. */
  readonly maxResponseBytes: number;
  /** Ends the request early, as the deadline does. */
  readonly signal?: AbortSignal;
}

/** What comes of an answer before its body. */
export interface AnswerHead {
  readonly status: number;
  /** Names in lowercase; repeated ones are joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface GuardedResponse extends AnswerHead {
  /** As the peer sent it: never decompressed, at most `maxResponseBytes`. */
  readonly body: Buffer;
  readonly truncated: boolean;
}

/** The one way out by HTTP. */
export interface GuardedHttp {
  /**
   * @throws CodedError `HTTP.BAD_URL`, `HTTP.BAD_HEADER`, `HTTP.BLOCKED_ADDRESS` (nothing was sent), `HTTP.REDIRECT` (any 3xx:
   * `facts.status`), `HTTP.TIMEOUT`, `HTTP.NETWORK`. `facts.connected` says whether the peer may have seen the request, and `answerIn` what
   * of its answer had come.
   */
  request(request: GuardedRequest): Promise<GuardedResponse>;
  /** Ends the requests in flight; later ones are refused. */
  close(): Promise<void>;
}

/** They belong to the connection, not to the caller; a wrong one could smuggle a second request or another host past the check. */
const OWN_HEADERS = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "keep-alive",
  "upgrade",
  "te",
  "trailer",
  "expect",
  "accept-encoding",
]);

/**
 * Makes the client for all outbound HTTP. It reaches public addresses only, checked and pinned when it connects; follows no redirect;
 * uses no proxy from the environment, no cookie, no connection twice (a reused one may be dead, and a lost answer leaves the outcome unknown).
 * @param options.allow exceptions for development and tests, exactly `address:port`.
 * @throws CodedError `ENV.INVALID` when an exception is not of that form.
 */
export function createGuardedHttp(options: { allow?: readonly string[] } = {}): GuardedHttp {
  const allowed = parseAllowedTargets(options.allow ?? []);
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  return {
    async request(request) {
      const url = checkUrl(request.url);
      const headers = checkHeaders(request.headers ?? {});
      return inSpan(`HTTP ${request.method}`, callSpan(request.method, url), async (span) => {
        const response = await sendTracked(url, { ...request, headers: { ...headers, ...activeTraceContext() } });
        span.setAttribute("http.response.status_code", response.status);
        return response;
      });
    },
    async close() {
      closing.abort(new Error("the client was closed"));
      await Promise.allSettled(running);
    },
  };

  async function sendTracked(url: URL, request: GuardedRequest): Promise<GuardedResponse> {
    const signals = request.signal === undefined ? [closing.signal] : [closing.signal, request.signal];
    const deadline = abortAfter(request.deadlineMs, AbortSignal.any(signals));
    const work = send(url, request, allowed, deadline).finally(() => deadline.clear());
    running.add(work);
    try {
      return await work;
    } finally {
      running.delete(work);
    }
  }
}

/** Of the address the server only: paths and queries of webhooks hold secrets. */
function callSpan(method: string, url: URL): SpanOptions {
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  return {
    kind: SpanKind.CLIENT,
    attributes: { "http.request.method": method, "server.address": url.hostname, "server.port": port },
  };
}

/** Of an answer whose body did not come whole, or was not wanted (a redirect), what came before it; null when nothing did. */
export function answerIn(error: unknown): AnswerHead | null {
  return isCodedError(error) && "answer" in error ? (error.answer as AnswerHead) : null;
}

async function send(url: URL, request: GuardedRequest, allowed: AllowedTargets, deadline: Deadline): Promise<GuardedResponse> {
  const { signal } = deadline;
  const progress: Progress = { connected: false, answer: null };
  const connect = createGuardedConnector({ allowed, signal, onConnected: () => (progress.connected = true) });
  // The one deadline covers all phases; undici's timers per phase would let a dripping body live for ever.
  const client = new Client(url.origin, { connect, pipelining: 0, headersTimeout: 0, bodyTimeout: 0, maxHeaderSize: 16_384 });
  try {
    signal.throwIfAborted();
    const headers = { ...request.headers, "accept-encoding": "identity" };
    const response = await client.request({
      method: request.method,
      path: url.pathname + url.search,
      headers,
      body: request.body ?? null,
      signal,
    });
    const answer = { status: response.statusCode, headers: flattenHeaders(response.headers) };
    progress.answer = answer;
    if (answer.status >= 300 && answer.status < 400) throw redirect(url, answer.status);
    return { ...answer, ...(await readCapped(response.body, request.maxResponseBytes)) };
  } catch (error) {
    const coded = toCodedError(error, { url, deadlineMs: request.deadlineMs, signal, progress });
    // Not one of its facts: they are logged, and headers are the peer's words.
    throw progress.answer === null ? coded : Object.assign(coded, { answer: progress.answer });
  } finally {
    // Whatever is still open or unread is not wanted any more; undici reports that to the body, which nobody reads then.
    client.destroy().catch(() => undefined);
  }
}

async function readCapped(stream: Dispatcher.ResponseData["body"], maxBytes: number): Promise<{ body: Buffer; truncated: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const kept = chunk.subarray(0, maxBytes - size);
    // A copy: a slice would keep the socket's whole buffer alive.
    if (kept.length > 0) chunks.push(Buffer.from(kept));
    size += kept.length;
    if (kept.length < chunk.length) return { body: Buffer.concat(chunks), truncated: true };
  }
  return { body: Buffer.concat(chunks), truncated: false };
}

function checkUrl(text: string): URL {
  const refuse = (got: string): never => {
    throw new CodedError("HTTP.BAD_URL", `expected an absolute http(s) URL without credentials, got ${got}`, { facts: { got } });
  };
  if (!URL.canParse(text)) return refuse("one that does not parse");
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") return refuse(`the protocol ${url.protocol}`);
  if (url.username !== "" || url.password !== "") return refuse("one with credentials");
  return url;
}

function checkHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  for (const [name, value] of Object.entries(headers)) {
    const wrong =
      !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || OWN_HEADERS.has(name.toLowerCase()) || /[^\t\x20-\x7e\x80-\xff]/.test(value);
    if (wrong)
      throw new CodedError("HTTP.BAD_HEADER", `expected a plain header of the caller's own, got ${JSON.stringify(name)}`, {
        facts: { name },
      });
  }
  return { ...headers };
}

function redirect(url: URL, status: number): CodedError {
  return new CodedError("HTTP.REDIRECT", `expected ${url.origin} to answer itself, got a redirect (${status})`, {
    facts: { origin: url.origin, status, connected: true },
  });
}

type Progress = { connected: boolean; answer: AnswerHead | null };
type Failure = { url: URL; deadlineMs: number; signal: AbortSignal; progress: Progress };

function toCodedError(error: unknown, { url, deadlineMs, signal, progress }: Failure): CodedError {
  // The reason of an abort may be a coded error too, but knows nothing of how far the request had come.
  if (isCodedError(error) && error !== signal.reason) return error;
  const facts = { origin: url.origin, connected: progress.connected, status: progress.answer?.status ?? null };
  if (signal.reason instanceof DOMException && signal.reason.name === "TimeoutError") {
    return new CodedError("HTTP.TIMEOUT", `expected ${url.origin} to finish within ${deadlineMs} ms, it did not`, {
      facts: { ...facts, deadlineMs },
      cause: error,
    });
  }
  return new CodedError("HTTP.NETWORK", `expected ${url.origin} to answer, got: ${describeError(error, 300)}`, { facts, cause: error });
}

function flattenHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const flat = Object.entries(headers).map(([name, value]) => [
    name.toLowerCase(),
    Array.isArray(value) ? value.join(", ") : (value ?? ""),
  ]);
  return Object.fromEntries(flat) as Record<string, string>;
}
