import { createLogger, type Logger } from "@toolctrl/runtime/logger";

/** A logger of the product whose lines a test can read. */
export function createTestLog(): { log: Logger; lines: string[] } {
  const lines: string[] = [];
  return { lines, log: createLogger({ app: "test", level: "debug", destination: { write: (line) => void lines.push(line) } }) };
}
