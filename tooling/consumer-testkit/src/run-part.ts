import type { Logger } from "@toolctrl/runtime/logger";
import { runUntilSignal, type Closable, type Scope } from "@toolctrl/runtime/run";
import { hostLanes } from "@toolctrl/testkit/lane-host";

export type PartScope = Pick<Scope, "add">;
type Source = Readonly<Record<string, string | undefined>>;

const GRACE_MS = 10_000;

/**
 * Runs a part of an app until a signal ends the process, as the app would. A test with a channel to the process opens as many copies of it
 * there as it wants, each in a lane of its own. For the main file of a child process.
 */
export function runPart(open: (source: Source, scope: PartScope) => Promise<void>, log: Logger): void {
  if (process.send === undefined) {
    void runUntilSignal((scope) => open(process.env, scope), { graceMs: GRACE_MS, log });
    return;
  }
  hostLanes(async (env) => {
    const scope = laneScope();
    await open(env, scope);
    return scope;
  });
}

/** Closes what was added in reverse order, as a process does that is told to stop. */
function laneScope(): PartScope & { close(): Promise<void> } {
  const resources: Closable[] = [];
  return {
    add(_name, resource) {
      resources.unshift(resource);
      return resource;
    },
    async close() {
      for (const resource of resources) await resource.close(GRACE_MS);
    },
  };
}
