import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const NAMES = ["redis-server", "valkey-server"];

/** The path of a `redis-server` or `valkey-server` in PATH, or null. */
export async function findRedisServer(): Promise<string | null> {
  const directories = (process.env.PATH ?? "").split(delimiter).filter((path) => path !== "");
  for (const name of NAMES) {
    for (const directory of directories) {
      const path = join(directory, name);
      if (await exists(path, constants.X_OK)) return path;
    }
  }
  return null;
}

/** The same; as root on a Debian-like machine it is installed when missing. Throws an error with the command to type otherwise. */
export async function requireRedisServer(log?: (line: string) => void): Promise<string> {
  const found = await findRedisServer();
  if (found !== null) return found;
  if (process.getuid?.() === 0 && (await exists("/etc/debian_version", constants.R_OK))) {
    log?.("no redis-server in PATH; running apt-get install -y redis-server");
    await aptInstall();
    const installed = await findRedisServer();
    if (installed !== null) return installed;
  }
  throw new Error(`expected a Redis server for the tests, got none. ${howToGetRedis()}`);
}

function howToGetRedis(): string {
  const install = process.platform === "darwin" ? "brew install redis" : "sudo apt-get install -y redis-server";
  return `Type: ${install}   (or start Docker, or set TEST_REDIS_URL=redis://host:port)`;
}

async function aptInstall(): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
  const args = ["install", "-y", "--no-install-recommends", "redis-server"];
  try {
    // Package lists may be missing or old: then they are fetched, and the second try's error is the one to show.
    await run("apt-get", args, { env }).catch(async () => {
      await run("apt-get", ["update"], { env });
      await run("apt-get", args, { env });
    });
  } catch (cause) {
    throw new Error(`expected apt-get to install redis-server, got an error. ${howToGetRedis()}`, { cause });
  }
}

function exists(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}
