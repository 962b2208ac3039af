import { findFreePort } from "@toolctrl/testkit/free-port";
import type { ChildHandle } from "@toolctrl/testkit/process";
import type { Compose } from "../compose/read-compose.ts";
import type { ServiceName } from "../programs.ts";
import { findIsolation } from "./first-process.ts";
import type { StageFolder } from "./run-stages.ts";
import { startService, untilHealthy, type Launch } from "./start-service.ts";

export type AppName = Exclude<ServiceName, "migrate">;

/** How each service of the compose file is started here. */
export type Launches = Readonly<Record<ServiceName, Launch>>;

/** All containers share this machine, so that each listens on a port of its own, and on loopback. */
export async function launchesOf(
  image: StageFolder,
  compose: Compose,
  values: Readonly<Record<string, string>>,
): Promise<Launches & { readonly webUrl: string }> {
  const [web, general, mail, health] = [await findFreePort(), await findFreePort(), await findFreePort(), await findFreePort()];
  const isolation = await findIsolation();
  const webUrl = `http://127.0.0.1:${web}`;
  const launch = (name: ServiceName, own: Record<string, string>): Launch => {
    const service = compose.services[name];
    if (service === undefined) throw new Error(`expected a service ${name}, got none`);
    return { image, service, values, own, isolation };
  };
  const listens = (port: number): Record<string, string> => ({ HEALTH_HOST: "127.0.0.1", HEALTH_PORT: String(port) });
  return {
    webUrl,
    migrate: launch("migrate", {}),
    "worker-general": launch("worker-general", { ...listens(general), WORKFLOW_BRIDGE_URL: webUrl }),
    "worker-mail": launch("worker-mail", listens(mail)),
    web: launch("web", { ...listens(health), WEB_HOST: "127.0.0.1", WEB_PORT: String(web) }),
  };
}

/** Starts a program and waits until its health command says that it lives. */
export async function startApp(launches: Launches, name: AppName): Promise<ChildHandle> {
  const child = startService(launches[name]);
  await untilHealthy(launches[name], name);
  return child;
}

/** Runs the step before the programs to its end. */
export async function runMigrate(launches: Launches): Promise<string> {
  const child = startService(launches.migrate);
  const { code } = await child.waitForExit();
  const output = child.lines().join("\n");
  if (code !== 0) throw new Error(`expected migrate to end with 0, got ${code}:\n${output}`);
  return output;
}
