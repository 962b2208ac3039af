import type { Io } from "../io.ts";

/** Writes a command's result: with --json one JSON document, else the text for people. Dates are ISO 8601, bigints decimal text. */
export function writeResult(io: Io, json: boolean, value: unknown, text: () => string): void {
  io.out.write(json ? `${JSON.stringify(value, replaceBigint, 2)}\n` : `${text()}\n`);
}

function replaceBigint(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}
