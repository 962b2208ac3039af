import { matchesGlob } from "node:path";

/** Says of a path below the context whether an engine would leave it out. A folder that is left out takes along what is in it. */
export type Ignore = (path: string) => boolean;

/**
 * Reads a `.dockerignore`.
 * @throws Error for an exception (`!…`), which this reading does not know
 */
export function readIgnore(text: string): Ignore {
  const lines = text.split("\n").map((line) => line.trim());
  const patterns = lines.filter((line) => line !== "" && !line.startsWith("#"));
  const exception = patterns.find((pattern) => pattern.startsWith("!"));
  if (exception !== undefined) throw new Error(`expected .dockerignore to have no exceptions, got ${exception}`);
  return (path) => {
    const above = path.split("/").map((_part, index, parts) => parts.slice(0, index + 1).join("/"));
    return above.some((part) => patterns.some((pattern) => matchesGlob(part, pattern)));
  };
}
