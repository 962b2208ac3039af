import type { ReadStream, WriteStream } from "node:tty";

/** Where the CLI reads and writes: results on `out`, everything else on `err`. */
export interface Io {
  readonly out: NodeJS.WriteStream;
  readonly err: NodeJS.WriteStream;
  readonly in: NodeJS.ReadStream;
  /** Whether a person can be asked: questions are written to `err` and answered on `in`. */
  readonly canAsk: boolean;
}

/** The process's own streams. */
export function processIo(): Io {
  const input: Partial<ReadStream> = process.stdin;
  const err: Partial<WriteStream> = process.stderr;
  return { out: process.stdout, err: process.stderr, in: process.stdin, canAsk: input.isTTY === true && err.isTTY === true };
}
