import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { startOnSomePort } from "./server-life.ts";
import { track } from "./tracked.ts";

export interface TcpProxy {
  readonly port: number;
  /** How many connections go through it now. */
  readonly connections: number;
  /** Resets every connection of this moment; new ones are served. */
  cut(): void;
  /** Keeps connections open, and takes new ones, but no byte goes through any of them: a network that went silent. */
  pause(): void;
  /** No byte goes through the connections of this moment any more, nor is their end told; new ones are served: a firewall that has forgotten them. */
  strand(): void;
  /** Resets every connection, and new ones are refused: a server that went away. */
  refuse(): Promise<void>;
  /** Ends `pause` and `strand` (what was held goes through) and `refuse`. */
  resume(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a proxy on loopback in front of a server there, to break the network between it and the product. */
export async function startTcpProxy(options: { toPort: number; port?: number }): Promise<TcpProxy> {
  const links = new Set<Link>();
  let paused = false;
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    const upstream = connect({ port: options.toPort, host: "127.0.0.1", allowHalfOpen: true });
    const link = new Link(client, upstream, () => links.delete(link));
    links.add(link);
    link.setPaused(paused);
  });
  const port = await startOnSomePort(async (wanted) => (await listen(server, wanted), wanted), options.port);
  const setLinksPaused = (value: boolean): void => {
    for (const link of links) link.setPaused(value);
  };
  const setPaused = (value: boolean): void => {
    paused = value;
    setLinksPaused(value);
  };
  const cut = (): void => {
    for (const link of links) link.reset();
  };
  const refuse = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = new Promise((resolve) => server.close(resolve));
    cut();
    await closed;
  };
  const close = async (): Promise<void> => {
    untrack();
    await refuse();
  };
  const untrack = track(`the proxy on port ${port}`, close);
  return {
    port,
    get connections() {
      return links.size;
    },
    cut,
    pause: () => setPaused(true),
    strand: () => setLinksPaused(true),
    refuse,
    async resume() {
      setPaused(false);
      if (!server.listening) await listen(server, port);
    },
    close,
  };
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
}

/** Two sockets whose bytes go to each other, with backpressure, until one of them ends. */
class Link {
  readonly #sides: readonly [Socket, Socket];
  #paused = false;

  constructor(client: Socket, upstream: Socket, onEnd: () => void) {
    this.#sides = [client, upstream];
    this.#forward(client, upstream);
    this.#forward(upstream, client);
    client.once("close", () => {
      upstream.destroy();
      onEnd();
    });
    upstream.once("close", () => client.destroy());
  }

  setPaused(paused: boolean): void {
    this.#paused = paused;
    for (const side of this.#sides) {
      if (paused) side.pause();
      else side.resume();
    }
  }

  reset(): void {
    for (const side of this.#sides) side.resetAndDestroy();
  }

  #forward(from: Socket, to: Socket): void {
    from.on("data", (chunk) => {
      if (!to.write(chunk)) from.pause();
    });
    to.on("drain", () => {
      if (!this.#paused) from.resume();
    });
    from.once("end", () => to.end());
    // An error is followed by "close", which ends the other side.
    from.on("error", () => undefined);
  }
}
