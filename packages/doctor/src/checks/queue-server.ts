import { describeError } from "@toolctrl/foundation/errors";
import type { QueueBackend, ServerInfo } from "@toolctrl/queue/port";
import { fail, ok, unknown, type Check, type Finding } from "../check.ts";

/** BullMQ's scripts use commands of this version. */
const OLDEST = [6, 2];

const BY_HAND = "the server may not be asked (INFO): look it up where it is hosted";

/** The queue's server answers, takes writes, and is new enough. */
export function createQueueServerCheck(backend: Pick<QueueBackend, "kind" | "ping" | "serverInfo">): Check {
  return { name: "queue server", look: () => lookAt(backend) };
}

async function lookAt(backend: Pick<QueueBackend, "kind" | "ping" | "serverInfo">): Promise<Finding> {
  try {
    await backend.ping();
  } catch (error) {
    const fix = backend.kind === "redis" ? "start it, or correct REDIS_URL" : "start it, or correct DATABASE_DIRECT_URL";
    return fail(`expected the queue's server to answer, got: ${describeError(error, 300)}`, fix);
  }
  return judge(await backend.serverInfo());
}

function judge(told: ServerInfo): Finding {
  if (told.kind === "unknown") return unknown(`the version of Redis is unknown (${told.why})`, BY_HAND);
  if (told.redis === null) return ok("BullMQ on PostgreSQL");
  const { version } = told.redis;
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [oldest = 0, least = 0] = OLDEST;
  if (major > oldest || (major === oldest && minor >= least)) return ok(`Redis ${version}`);
  return fail(`expected Redis ${OLDEST.join(".")} or newer, got ${version}`, "upgrade the server of Redis");
}
