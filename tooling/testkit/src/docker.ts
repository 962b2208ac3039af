import { request, type RequestOptions } from "node:http";

const PING_TIMEOUT_MS = 1000;

/** Whether a Docker engine answers a ping. An installed client, or a socket file that nobody serves, proves nothing. */
export function dockerAnswers(): Promise<boolean> {
  const target = engineAddress(process.env.DOCKER_HOST ?? "unix:///var/run/docker.sock");
  if (target === null) return Promise.resolve(false);
  return new Promise((resolve) => {
    const ping = request({ ...target, path: "/_ping", timeout: PING_TIMEOUT_MS }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    ping.on("timeout", () => ping.destroy(new Error("the engine did not answer in time")));
    ping.on("error", () => resolve(false));
    ping.end();
  });
}

function engineAddress(host: string): RequestOptions | null {
  if (host.startsWith("unix://")) return { socketPath: host.slice("unix://".length) };
  if (!URL.canParse(host) || !host.startsWith("tcp://")) return null;
  const { hostname, port } = new URL(host);
  return { host: hostname, port: Number(port) || 2375 };
}
