import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { track } from "./tracked.ts";
import { waitFor } from "./wait.ts";

export interface ReceivedRequest {
  method: string;
  /** Path and query. */
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** The body as UTF-8. */
  text: string;
}

/** `drop`: ends the connection without an answer. `hang`: never answers. `handled`: the responder has used `response` itself. */
export type Reply = { status?: number; headers?: Record<string, string>; body?: string | Buffer } | "drop" | "hang" | "handled";

/** Decides the answer; `index` counts requests from 0. */
export type Responder = (request: ReceivedRequest, index: number, response: ServerResponse) => Reply | Promise<Reply>;

export interface HttpPeer {
  readonly port: number;
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Every request received whole so far, in order. */
  readonly requests: readonly ReceivedRequest[];
  /** Connections that clients have to it now. */
  connections(): number;
  /** Sets how requests are answered from now on; the default is an empty 200. */
  respond(responder: Responder): void;
  /** The next request that no earlier call has returned; waits for it up to 10 s. */
  nextRequest(): Promise<ReceivedRequest>;
  close(): Promise<void>;
}

/** Starts a real HTTP server on loopback that keeps every request and answers, or does not, as the test says. */
export async function startHttpPeer(options: { port?: number } = {}): Promise<HttpPeer> {
  const requests: ReceivedRequest[] = [];
  let responder: Responder = () => ({ status: 200 });
  let taken = 0;
  const serve = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      const request = await receive(message);
      const index = requests.push(request) - 1;
      answer(response, await responder(request, index, response));
    } catch {
      // The client went away before its request was complete, or the responder threw: either way there is no answer.
      response.destroy();
    }
  };
  const server = createServer((message, response) => void serve(message, response));
  let connections = 0;
  server.on("connection", (socket) => {
    connections += 1;
    socket.once("close", () => void (connections -= 1));
  });
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    untrack();
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  const untrack = track(`the HTTP peer on port ${port}`, close);
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    requests,
    connections: () => connections,
    respond: (next) => void (responder = next),
    nextRequest() {
      const index = taken;
      taken += 1;
      return waitFor(() => requests[index], { what: `request number ${index + 1}` });
    },
    close,
  };
}

async function receive(message: IncomingMessage): Promise<ReceivedRequest> {
  const body = await buffer(message);
  return { method: message.method ?? "", path: message.url ?? "", headers: message.headers, body, text: body.toString("utf8") };
}

function answer(response: ServerResponse, reply: Reply): void {
  if (reply === "hang" || reply === "handled") return;
  if (reply === "drop") {
    response.destroy();
    return;
  }
  response.writeHead(reply.status ?? 200, reply.headers ?? {});
  response.end(reply.body ?? "");
}
