import { fileURLToPath } from "node:url";
import { openSources, type Sources } from "../src/inventory/open-sources.ts";

/** As they are. */
export const sources = openSources(fileURLToPath(new URL("../../..", import.meta.url)));

/** The sources with one change that nobody has made. A text that is not there, or is there twice, changes nothing and fails. */
export function doctored(path: string, from: string, to: string): Sources {
  const text = sources.textOf(path);
  if (text.split(from).length !== 2) throw new Error(`expected ${path} to hold ${JSON.stringify(from)} once`);
  return sources.with(
    path,
    text.replace(from, () => to),
  );
}

/** The sources with something more at the end of a module. */
export function extended(path: string, more: string): Sources {
  return sources.with(path, `${sources.textOf(path)}\n${more}\n`);
}
