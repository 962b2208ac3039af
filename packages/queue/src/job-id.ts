import { CodedError } from "@toolctrl/foundation/errors";

const MAX_JOB_ID_LENGTH = 200;

// BullMQ on Redis keeps a job under `<prefix>:<queue>:<id>`, beside the keys of the queue itself: these names would overwrite them.
const RESERVED = new Set([
  ..."active wait waiting-children paused id delayed prioritized stalled-check completed failed stalled repeat limiter meta events".split(
    " ",
  ),
  ..."pc marker de metrics".split(" "),
]);

/**
 * The id of the BullMQ job that hands an event off: `outbox-<id>`, and `outbox-<id>-<generation>` after a requeue.
 *
 * BullMQ refuses ids of digits only and most ids with a colon, and takes an add with a known id for a repetition, silently;
 * a requeued event therefore has a new generation, so that its job is really added.
 *
 * @throws CodedError `QUEUE.JOB_ID`
 */
export function jobIdFor(eventId: string | number | bigint, generation = 0): string {
  return jobIdOf("outbox", eventId, generation);
}

/**
 * The id of a job of another kind, made by the same rule: `<kind>-<key>` or `<kind>-<key>-<generation>`.
 * @throws CodedError `QUEUE.JOB_ID`
 */
export function jobIdOf(kind: string, key: string | number | bigint, generation = 0): string {
  if (!/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(kind)) refuse("the kind of a job id", "lowercase words with hyphens", kind);
  if (!Number.isSafeInteger(generation) || generation < 0) refuse("the generation of a job id", "a whole number of 0 or more", generation);
  if (typeof key === "number" && !Number.isSafeInteger(key)) refuse("a numeric key of a job id", "a safe integer", key);
  const text = String(key);
  if (text === "") refuse("the key of a job id", "at least one character", text);
  const id = generation === 0 ? `${kind}-${text}` : `${kind}-${text}-${generation}`;
  assertJobId(id);
  return id;
}

/** Why a text cannot be a job id, or null when it can. */
export function jobIdProblem(id: unknown): string | null {
  if (typeof id !== "string") return "a string";
  if (id.length === 0 || id.length > MAX_JOB_ID_LENGTH) return `between 1 and ${MAX_JOB_ID_LENGTH} characters`;
  if (/^[+-]?\d+$/.test(id)) return "more than digits";
  // oxlint-disable-next-line no-control-regex -- control characters break the keys and the logs that hold the id
  if (/[:\s\u0000-\u001f\u007f]/.test(id)) return "free of colons, white space and control characters";
  if (RESERVED.has(id)) return "no name of the queue's own keys";
  return null;
}

/** @throws CodedError `QUEUE.JOB_ID` */
export function assertJobId(id: unknown): asserts id is string {
  const problem = jobIdProblem(id);
  if (problem !== null) refuse("a job id", problem, id);
}

function refuse(what: string, expected: string, got: unknown): never {
  const shown = typeof got === "string" ? JSON.stringify(got.slice(0, 80)) : String(got);
  throw new CodedError("QUEUE.JOB_ID", `expected ${what} to be ${expected}, got ${shown}`, { facts: { got: shown } });
}
