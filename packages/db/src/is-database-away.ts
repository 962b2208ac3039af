import { sqlStateOf } from "./sql-state-of.ts";

/**
 * 08 connection, 53 resources, 57P the server stops or starts, 25006 it takes no writes; 40001, 40P01 and 55P03: a rival's lock was in the way.
 */
const PASSING_STATES = /^(?:08...|53...|57P..|25006|40001|40P01|55P03)$/;
const NETWORK = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
]);
/** Prisma: the server cannot be reached, has closed the connection, or has none to give. */
const PRISMA = new Set(["P1001", "P1002", "P1008", "P1017", "P2024", "P2028"]);

/** Whether the database could not be asked, so that the same request may succeed in a moment. */
export function isDatabaseAway(error: unknown): boolean {
  if (PASSING_STATES.test(sqlStateOf(error) ?? "")) return true;
  for (let current = error, depth = 0; current instanceof Error && depth < 8; depth += 1) {
    if (isAway(current)) return true;
    current = current.cause;
  }
  return false;
}

function isAway(error: Error): boolean {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (code === "DB.POOL_TIMEOUT" || NETWORK.has(code) || PRISMA.has(code)) return true;
  // The driver gives these no code.
  return /^(?:Connection terminated|Client has encountered a connection error|Cannot use a pool after calling end)/.test(error.message);
}
