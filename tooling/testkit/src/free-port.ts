import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";

/** A loopback TCP port that was free a moment ago. Another process can take it before the caller does: be ready to try again. */
export async function findFreePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
