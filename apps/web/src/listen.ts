import type { AddressInfo } from "node:net";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Closable } from "@toolctrl/runtime/run";
import type { FastifyInstance } from "fastify";

export interface Listening extends Closable {
  readonly port: number;
}

/** Has the server listen. Closing it takes no new connection, lets the requests in flight end, and cuts those that do not in time. */
export async function listen(
  server: FastifyInstance,
  options: { readonly host: string; readonly port: number; readonly log: Logger },
): Promise<Listening> {
  const { host, port: wanted, log } = options;
  let closing = false;
  // A connection that is busy when the server closes is kept alive after its answer, and would hold the process until its time is over.
  server.server.on("request", (_request, response) => {
    response.once("close", () => closing && setImmediate(() => server.server.closeIdleConnections()));
  });
  await server.listen({ host, port: wanted });
  const { port } = server.server.address() as AddressInfo;
  log.info({ port }, "web server listens");
  return {
    port,
    async close(graceMs) {
      closing = true;
      const cut = setTimeout(() => server.server.closeAllConnections(), graceMs);
      await server.close();
      clearTimeout(cut);
    },
  };
}
