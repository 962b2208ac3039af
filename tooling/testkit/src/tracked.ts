/**
 * What a test file has opened: servers, peers, proxies, children, databases. Whatever is still open when the file ends is
 * closed then, last opened first.
 */
interface Tracked {
  readonly what: string;
  close(): Promise<void>;
}

const KEY = Symbol.for("toolctrl.testkit.tracked");

/** One set per process, even where two copies of this module are loaded. */
function registry(): Set<Tracked> {
  const holder = globalThis as { [KEY]?: Set<Tracked> };
  return (holder[KEY] ??= new Set());
}

/** Remembers an open resource; the returned function forgets it. */
export function track(what: string, close: () => Promise<void>): () => void {
  const entry: Tracked = { what, close };
  registry().add(entry);
  return () => {
    registry().delete(entry);
  };
}

/** Closes everything still open. Returns what it was; throws an AggregateError when something would not close. */
export async function closeTracked(): Promise<string[]> {
  const open = [...registry()].toReversed();
  registry().clear();
  const errors: unknown[] = [];
  for (const entry of open) {
    try {
      await entry.close();
    } catch (error) {
      errors.push(new Error(`${entry.what} did not close`, { cause: error }));
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, `${errors.length} resources of this test file did not close`);
  return open.map((entry) => entry.what);
}
