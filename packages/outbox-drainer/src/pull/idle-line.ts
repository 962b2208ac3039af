/** The loops that found nothing to do. */
export interface IdleLine {
  /** Until it is time to look again, or somebody wakes this loop. @returns what ended the pause. */
  pause(): Promise<"hint" | "poll">;
  /** Wakes one idle loop; with none idle, the next one that pauses does not. */
  wakeOne(): void;
  /** Wakes all, now and for good. */
  close(): void;
}

/**
 * Keeps one loop polling at the interval and the others the more rarely, the more of them are idle: whoever finds work wakes the next,
 * so ten idle workers ask little more than one does, and a burst has all of them within a few claims.
 */
export function createIdleLine(intervalMs: number): IdleLine {
  const idle: Array<(why: "hint" | "poll") => void> = [];
  let woken = false;
  let closed = false;

  function pause(): Promise<"hint" | "poll"> {
    if (closed || woken) {
      woken = false;
      return Promise.resolve("hint");
    }
    return new Promise((resolve) => {
      const end = (why: "hint" | "poll"): void => {
        clearTimeout(timer);
        const place = idle.indexOf(end);
        if (place !== -1) idle.splice(place, 1);
        resolve(why);
      };
      const timer = setTimeout(() => end("poll"), intervalMs * (idle.length + 1));
      idle.push(end);
    });
  }

  function wakeOne(): void {
    const next = idle[0];
    if (next === undefined) woken = true;
    else next("hint");
  }

  return {
    pause,
    wakeOne,
    close() {
      closed = true;
      while (idle[0] !== undefined) idle[0]("hint");
    },
  };
}
