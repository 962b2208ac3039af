/** Ctrl-C aborts the signal instead of ending the process, once: the running batch ends, a second Ctrl-C ends everything. */
export function watchInterrupt(): { readonly signal: AbortSignal; stop(): void } {
  const controller = new AbortController();
  const note = (): void => controller.abort();
  process.once("SIGINT", note);
  return { signal: controller.signal, stop: () => void process.off("SIGINT", note) };
}
