import { createPluginSubscription } from "@toolctrl/domain/plugins";
import { waitFor } from "@toolctrl/testkit/wait";
import type { Compose } from "../compose/read-compose.ts";
import { endGeneral, endMail, endWeb, mailTo, type Scene } from "./end-programs.ts";
import { launchesOf, runMigrate, startApp, type AppName } from "./programs-of-image.ts";
import type { StageFolder } from "./run-stages.ts";
import { startServers, TENANT } from "./servers.ts";
import { askHealth, runBeside, untilHealthy } from "./start-service.ts";

const APPS: readonly AppName[] = ["worker-general", "worker-mail", "web"];

/** Uses an image as the compose file does: migrates, starts everything, has effects, loses its servers, and is told to end in the middle of work. */
export async function useImage(image: StageFolder, compose: Compose, say: (line: string) => void): Promise<void> {
  await using servers = await startServers();
  const { webUrl, ...launches } = await launchesOf(image, compose, servers.values);
  const scene: Scene = { ...servers, launches, webUrl, say };
  const { isolation } = launches.migrate;
  say(
    isolation === null
      ? "no program is the first of a PID namespace: this machine allows none"
      : "each program is the first process of a PID namespace, as user node",
  );
  await migrateTwice(scene);
  await expectUnhealthy(scene);
  const [web, mail, general] = await Promise.all([
    startApp(launches, "web"),
    startApp(launches, "worker-mail"),
    startApp(launches, "worker-general"),
  ]);
  say(`${APPS.join(", ")} live, by the health command of the compose file`);
  await haveEffects(scene);
  await loseServers(scene);
  await endWeb(scene, web);
  await endMail(scene, mail);
  await endGeneral(scene, general);
}

async function migrateTwice({ launches, say }: Scene): Promise<void> {
  await runMigrate(launches);
  const again = await runMigrate(launches);
  if (!again.includes("Nothing to apply")) throw new Error(`expected a second migrate to have nothing to do, got ${again}`);
  say("migrate ended with 0, twice");
}

/** A program that is not there is not healthy: a command that cannot fail would pass every deployment. */
async function expectUnhealthy({ launches, say }: Scene): Promise<void> {
  for (const name of APPS) {
    const { code } = await askHealth(launches[name]);
    if (code !== 1) throw new Error(`expected the health command of ${name} to end with 1 while it does not run, got ${code}`);
  }
  say("the health commands end with 1 where nobody runs");
}

/** A mail, a hook, and what the operator's commands say of them. */
async function haveEffects({ launches, publish, smtp, http, database, pluginKey, say }: Scene): Promise<void> {
  await database.prisma.$transaction((tx) =>
    createPluginSubscription(tx, {
      kind: "http",
      tenantId: TENANT,
      pluginId: "peer",
      eventPrefixes: [],
      url: http.url,
      secretsKey: pluginKey,
    }),
  );
  await publish("mail.message.send", mailTo("first"));
  await publish("plugin.hook.fired", { n: 1 });
  await Promise.all([smtp.nextMail(), http.nextRequest()]);
  const stats = await runBeside(launches["worker-general"], [
    "node",
    "node_modules/@toolctrl/cli/dist/main.js",
    "outbox",
    "stats",
    "--json",
  ]);
  if (stats.code !== 0) throw new Error(`expected the operator's command to end with 0, got ${stats.code}: ${stats.output}`);
  say("a mail and a hook arrived, and toolctrl-cli answers beside a worker");
}

/** Without PostgreSQL and Redis everything lives on, is not ready, and comes back by itself. */
async function loseServers({ launches, postgres, redis, say }: Scene): Promise<void> {
  await Promise.all([postgres.stop(), redis.stop()]);
  for (const name of APPS) {
    await waitFor(async () => (await askHealth(launches[name], "/readyz")).code === 1, { what: `${name} to be unready` });
    const { code, output } = await askHealth(launches[name]);
    if (code !== 0) throw new Error(`expected ${name} to live without its servers, got ${code}: ${output}`);
  }
  await Promise.all([postgres.restart(), redis.start()]);
  for (const name of APPS) await untilHealthy(launches[name], `${name} to be ready`, "/readyz");
  say("without PostgreSQL and Redis all stay healthy and say that they are not ready; with them they are ready again");
}
