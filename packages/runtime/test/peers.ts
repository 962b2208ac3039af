import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";

async function listen(server: Server, host: string, port = 0): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, host, resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

export interface HttpPeer {
  readonly port: number;
  readonly url: string;
  readonly requests: Array<{ method: string; path: string; headers: IncomingMessage["headers"]; body: Buffer }>;
  connections(): number;
}

/** A real HTTP server on loopback; it is closed when the test ends. */
export async function startHttpPeer(answer: RequestListener, at: { host?: string; port?: number } = {}): Promise<HttpPeer> {
  const requests: HttpPeer["requests"] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      requests.push({ method: request.method ?? "", path: request.url ?? "", headers: request.headers, body: Buffer.concat(chunks) });
      answer(request, response);
    });
  });
  server.on("connection", () => (connections += 1));
  const host = at.host ?? "127.0.0.1";
  const port = await listen(server, host, at.port);
  return { port, url: `http://${host}:${port}`, requests, connections: () => connections };
}

/** A TCP server that does what it is told with each connection. */
export async function startTcpPeer(onConnection: (socket: Socket) => void): Promise<{ port: number }> {
  return { port: await listen(createTcpServer(onConnection), "127.0.0.1") };
}
