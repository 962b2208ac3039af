import { spawnNode, type ChildHandle } from "@toolctrl/testkit/process";

export interface WebProcess extends ChildHandle {
  readonly url: string;
  readonly healthUrl: string;
}

/** Starts the app as a process of its own, and waits until it listens. */
export async function startWebProcess(env: Readonly<Record<string, string>>): Promise<WebProcess> {
  const child = spawnNode(new URL("../src/main.ts", import.meta.url), { env: { NODE_ENV: "test", WEB_PORT: "0", ...env } });
  const portOf = async (pattern: RegExp): Promise<number> => (JSON.parse(await child.waitForLine(pattern)) as { port: number }).port;
  const port = await portOf(/"msg":"web server listens"/);
  const healthPort = await portOf(/"msg":"health server listens"/);
  return { ...child, url: `http://127.0.0.1:${port}`, healthUrl: `http://127.0.0.1:${healthPort}` };
}
