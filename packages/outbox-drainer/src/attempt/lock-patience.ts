/** How long the next attempt may wait for a lock. `end` is called when it is over, once. */
export interface Patience {
  readonly lockTimeoutMs: number;
  end(timedOut: boolean): void;
}

/** The wait of those beyond the patient half, before any of them has timed out. */
const SHORT_MS = 200;
const SHORTEST_MS = 25;
const MEMORY_MS = 10_000;

/**
 * Shares out the waiting for locks: at most half of the attempts at once may wait as long as the setting says, the others shortly, and
 * the more shortly the more of them have timed out of late. A cascade that locks a parent would otherwise take every worker for the whole
 * time-out, as it has at least as many children waiting as there are workers; so one is free again within a fraction of a second.
 */
export function createLockPatience(settings: { lockTimeoutMs: number; parallelism: number }): () => Patience {
  const { lockTimeoutMs, parallelism } = settings;
  const patientAtMost = Math.floor(parallelism / 2);
  const timeouts: number[] = [];
  let patient = 0;
  return () => {
    const isPatient = patient < patientAtMost;
    if (isPatient) patient += 1;
    return {
      lockTimeoutMs: isPatient ? lockTimeoutMs : Math.min(lockTimeoutMs, shortMs()),
      end(timedOut) {
        if (isPatient) patient -= 1;
        if (timedOut) timeouts.push(performance.now());
      },
    };
  };

  function shortMs(): number {
    const since = performance.now() - MEMORY_MS;
    while (timeouts[0] !== undefined && timeouts[0] < since) timeouts.shift();
    return Math.max(SHORTEST_MS, Math.round(SHORT_MS / (1 + timeouts.length / parallelism)));
  }
}
