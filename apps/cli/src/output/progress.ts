import type { Io } from "../io.ts";

/** Tells how far a bulk is: a bar that redraws itself on a terminal, else one plain line per step. Always on the error output. */
export interface Progress {
  step(done: number): void;
  end(): void;
}

const WIDTH = 30;

export function createProgress(io: Io, verb: string, total: number): Progress {
  const text = (done: number): string => `${verb} ${done}/${total}`;
  if (!io.err.isTTY) {
    return { step: (done) => void io.err.write(`${text(done)}\n`), end: () => undefined };
  }
  return {
    step(done) {
      const filled = total === 0 ? WIDTH : Math.min(WIDTH, Math.round((done / total) * WIDTH));
      // "\r" goes back to the start of the line, the escape clears what is left of the line before.
      io.err.write(`\r\u001b[K${"█".repeat(filled)}${"░".repeat(WIDTH - filled)} ${text(done)}`);
    },
    end: () => void io.err.write("\n"),
  };
}
