import { setFlagsFromString } from "node:v8";

/**
 * Keeps the heap near what a worker uses. V8 sizes it by the machine: with 24 GB there, a worker that drained 200,000 events and used
 * 40 MB of heap held 376 MB of memory; bounded like this it held 217 MB, as fast.
 *
 * Both flags are read at each collection, so that they work in a running process. The flags of the command line that would do the same
 * would have to be repeated wherever a worker is started.
 */
export function boundHeap(): void {
  // The young generation stays as large as loading the app has made it.
  setFlagsFromString("--semi-space-growth-factor=1");
  // The old one is collected when it has twice the size of what was in use.
  setFlagsFromString("--heap-growing-percent=100");
}
