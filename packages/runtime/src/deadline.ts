/**
 * The promise's outcome, or a rejection with `makeError()` after `ms`. The promise itself goes on; what it does later is ignored,
 * its rejection included.
 */
export async function withDeadline<T>(promise: Promise<T>, ms: number, makeError: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(makeError()), Math.max(0, ms));
  });
  try {
    return await Promise.race([promise, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

export interface Deadline {
  readonly signal: AbortSignal;
  /** Ends the timer; the signal then aborts only with its parent. */
  clear(): void;
}

/** A signal that aborts after `ms`, or as soon as `parent` does. Call `clear` when the work is over. */
export function abortAfter(ms: number, parent?: AbortSignal): Deadline {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new DOMException(`expected an end within ${ms} ms`, "TimeoutError")), Math.max(0, ms));
  const onParent = (): void => controller.abort(parent?.reason);
  if (parent?.aborted) onParent();
  parent?.addEventListener("abort", onParent, { once: true });
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer);
      parent?.removeEventListener("abort", onParent);
    },
  };
}
