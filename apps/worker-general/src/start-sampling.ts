import type { Closable } from "@toolctrl/runtime/run";
import { createSampler, type SamplerDeps } from "./create-sampler.ts";

const SAMPLE_MS = 15_000;

/** Reads what the gauges tell now and then, so that a scrape of the metrics asks no server. One sample at a time. */
export function startSampling(deps: SamplerDeps): Closable {
  const sample = createSampler(deps);
  let running: Promise<void> | undefined;
  const run = (): void => {
    running ??= sample().finally(() => (running = undefined));
  };
  run();
  const timer = setInterval(run, SAMPLE_MS);
  return {
    close() {
      clearInterval(timer);
      // A sample that still runs ends within the bounds of its own calls, and nobody reads it.
      return Promise.resolve();
    },
  };
}
