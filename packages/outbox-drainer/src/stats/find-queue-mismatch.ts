import { CodedError } from "@toolctrl/foundation/errors";

/** What a live process has registered of its queue. */
interface RegisteredQueue {
  readonly app: string;
  readonly host: string;
  readonly pid: number;
  readonly queueBackend: string;
  readonly queuePrefix: string;
}

/**
 * `QUEUE.MISMATCH` when one of these processes has another queue than this, else null. Two servers of Redis under one prefix are not told
 * apart: where its server is, no process registers.
 */
export function findQueueMismatch(
  processes: readonly RegisteredQueue[],
  { kind, prefix }: { readonly kind: string; readonly prefix: string },
): CodedError | null {
  const other = processes.find(({ queueBackend, queuePrefix }) => queueBackend !== kind || queuePrefix !== prefix);
  if (other === undefined) return null;
  const { app, host, pid, queueBackend, queuePrefix } = other;
  return new CodedError(
    "QUEUE.MISMATCH",
    `expected the queue of the processes that run (${queueBackend}, prefix ${queuePrefix}: ${app} on ${host}, pid ${pid}), got ${kind}, prefix ${prefix}`,
    { facts: { app, host, pid, queueBackend, queuePrefix } },
  );
}
