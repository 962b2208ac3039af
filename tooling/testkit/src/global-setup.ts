import { createCompileCache } from "./compile-cache.ts";
import { startPostgresContainer, startRedisContainer } from "./containers.ts";
import { dockerAnswers } from "./docker.ts";
import { startPostgres } from "./postgres-server.ts";
import { startRedis } from "./redis-server.ts";
import { startOnSomePort } from "./server-life.ts";
import { createTemplate, dropTemplate } from "./template-db.ts";
import { startWorkSlots } from "./work-slots.ts";

interface RunServer {
  url: string;
  close(): Promise<void>;
}

/** What vitest hands to a global setup, as far as it is used here. */
interface Project {
  vitest: { filenamePattern?: string[] | undefined };
}

/**
 * Vitest's global setup: one throwaway PostgreSQL with the migrated template, and one throwaway Redis, for the whole run.
 * Their addresses reach the tests in TESTKIT_POSTGRES_URL, TESTKIT_TEMPLATE and TESTKIT_REDIS_URL, the directory in which its Node
 * processes keep what they compiled in TESTKIT_COMPILE_CACHE, the port that gives out work slots in TESTKIT_SLOTS_PORT.
 * A run that was asked for unit tests only starts neither.
 */
export default async function setup(project?: Project): Promise<() => Promise<void>> {
  const asked = project?.vitest.filenamePattern ?? [];
  if (asked.length > 0 && asked.every((pattern) => pattern.endsWith(".unit.test.ts"))) return () => Promise.resolve();
  const docker = await dockerAnswers();
  const started = await Promise.allSettled([startRunPostgres(docker), startRunRedis(docker)]);
  const [postgres, redis] = started;
  if (postgres.status === "rejected" || redis.status === "rejected") {
    for (const server of started) if (server.status === "fulfilled") await server.value.close();
    throw started.find((server) => server.status === "rejected")?.reason;
  }
  const [compileCache, slots] = await Promise.all([createCompileCache(), startWorkSlots()]);
  process.env.TESTKIT_POSTGRES_URL = postgres.value.url;
  process.env.TESTKIT_TEMPLATE = postgres.value.template;
  process.env.TESTKIT_REDIS_URL = redis.value.url;
  process.env.TESTKIT_COMPILE_CACHE = compileCache.dir;
  process.env.TESTKIT_SLOTS_PORT = String(slots.port);
  return async () => {
    await Promise.all([postgres.value.close(), redis.value.close(), compileCache.close(), slots.close()]);
  };
}

async function startRunPostgres(docker: boolean): Promise<RunServer & { template: string }> {
  const given = process.env.TEST_DATABASE_URL;
  const server = given === undefined || given === "" ? await startThrowawayPostgres(docker) : null;
  const url = server?.url ?? given ?? "";
  try {
    const template = await createTemplate(url);
    // A server of our own goes with all its databases; somebody else's is left as it was.
    const close = server === null ? () => dropTemplate(url, template) : server.close;
    return { url, template, close };
  } catch (error) {
    await server?.close();
    throw error;
  }
}

async function startThrowawayPostgres(docker: boolean): Promise<RunServer> {
  if (docker) {
    const container = await startPostgresContainer().catch(sayAndGoOn("PostgreSQL"));
    if (container !== null) return container;
  }
  // A zone that is neither UTC nor a whole number of hours from it: code that leans on the session's zone fails its tests.
  return startPostgres({ settings: { timezone: "Asia/Kolkata" } });
}

async function startRunRedis(docker: boolean): Promise<RunServer> {
  const given = process.env.TEST_REDIS_URL;
  if (given !== undefined && given !== "") return { url: given, close: () => Promise.resolve() };
  if (docker) {
    const args = ["--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction"];
    const container = await startOnSomePort((port) => startRedisContainer(port, args), undefined).catch(sayAndGoOn("Redis"));
    if (container !== null) return container;
  }
  return startRedis({ log: (line) => process.stderr.write(line.includes("apt-get") ? `${line}\n` : "") });
}

function sayAndGoOn(name: string): (error: unknown) => null {
  return (error) => {
    process.stderr.write(
      `The Docker engine answers, but ${name} did not start in it (${String(error)}); using a private server instead.\n`,
    );
    return null;
  };
}
