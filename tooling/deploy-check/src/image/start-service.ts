import { spawnCommand, type ChildHandle } from "@toolctrl/testkit/process";
import { waitFor } from "@toolctrl/testkit/wait";
import { environmentOf } from "../compose/check-environment.ts";
import type { Service } from "../compose/read-compose.ts";
import { asFirstProcess, signalFirstProcess, type Isolation } from "./first-process.ts";
import { binOf, placeOf, type StageFolder } from "./run-stages.ts";

/** The ids of the user `node` of the base image. */
const USERS: Readonly<Record<string, number>> = { node: 1000 };

/** How a container of the image would be started, but for the container. */
export interface Launch {
  readonly image: StageFolder;
  readonly service: Service;
  /** What the compose file's variables are. */
  readonly values: Readonly<Record<string, string>>;
  /** What differs where all containers share one machine: addresses and ports. */
  readonly own: Readonly<Record<string, string>>;
  /** Null where the machine allows no namespace. */
  readonly isolation: Isolation | null;
}

/** Starts the image's first process with the command and the environment of its service, as the image's user. SIGTERM goes to it alone. */
export function startService(launch: Launch): ChildHandle {
  const { image, service, isolation } = launch;
  const words = [...image.entrypoint, ...(service.command ?? [])];
  if (isolation === null) return start(launch, words, userOf(launch));
  const child = start(launch, asFirstProcess(isolation, userOf(launch), words), 0);
  return { ...child, kill: (signal = "SIGKILL") => signalFirstProcess(child.pid, signal) };
}

/** Runs another program of the image beside it, and returns how it ended with what it wrote. */
export async function runBeside(
  launch: Launch,
  words: readonly string[],
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = start(launch, words, userOf(launch));
  const { code } = await child.waitForExit();
  return { code, output: child.lines().join("\n") };
}

/** Asks as the engine would, by the health check's command; with `path`, for that instead. */
export function askHealth(launch: Launch, ...path: string[]): ReturnType<typeof runBeside> {
  const [, ...words] = launch.service.healthcheck?.test ?? [];
  return runBeside(launch, [...words, ...path]);
}

/** Waits until the health command ends with 0, for as long as a start may take. */
export async function untilHealthy(launch: Launch, what: string, ...path: string[]): Promise<void> {
  let last = "no answer";
  await waitFor(
    async () => {
      const { code, output } = await askHealth(launch, ...path);
      last = output;
      return code === 0;
    },
    { timeoutMs: launch.service.healthcheck?.start_period ?? 0, what: `${what} to be healthy` },
  ).catch((cause: unknown) => {
    throw new Error(`${String(cause)}; the health command last said: ${last}`, { cause });
  });
}

function userOf({ image }: Launch): number {
  const user = USERS[image.user];
  if (user === undefined) throw new Error(`expected the image's user to be one of ${Object.keys(USERS).join(", ")}, got ${image.user}`);
  return user;
}

function start({ image, service, values, own }: Launch, words: readonly string[], user: number): ChildHandle {
  const [command = "", ...args] = words;
  const env = { ...image.env, ...environmentOf(service.environment ?? {}, values), ...own };
  return spawnCommand(command, args, {
    cwd: placeOf(image, "."),
    env: { ...env, PATH: binOf(image), HOME: placeOf(image, ".") },
    // Only root can become another user.
    ...(process.getuid?.() === 0 ? { uid: user, gid: user } : {}),
  });
}
