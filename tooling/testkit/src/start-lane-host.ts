import type { FromLaneHost, LanePlan, ToLaneHost } from "./lane-messages.ts";
import type { ChildHandle, SpawnOptions } from "./process.ts";
import { waitFor } from "./wait.ts";

export interface LaneHostOptions extends Pick<LanePlan, "ports"> {
  /** Starts the process: a main file that calls `hostLanes`. */
  start(options: Pick<SpawnOptions, "onMessage">): ChildHandle;
  readonly ignore?: readonly RegExp[];
}

const TIMEOUT_MS = 120_000;

/** A process with lanes, as its test sees it. */
export interface LaneHost {
  lines(): readonly string[];
  open(lane: number, env: Readonly<Record<string, string>>, afterCall: number | undefined): Promise<void>;
  arm(lane: number): Promise<void>;
  /** Whether it has done what it had to do when it was told to go. */
  hasWorked(lane: number): boolean;
  /** The calls of the lane's whole life; undefined when it was cut off meanwhile. */
  close(lane: number): Promise<readonly string[] | undefined>;
  /** The calls of a lane that was cut off; undefined of one that was not. */
  callsIfCrashed(lane: number): readonly string[] | undefined;
  /** Waits for something, as long as the process lives and has no fault to report. */
  until<T>(check: () => Promise<T>, what: string, timeoutMs: number): Promise<Exclude<T, false | null | undefined | 0 | "">>;
  kill(): Promise<void>;
}

/** Starts a process with lanes; it has none yet. */
export function startLaneHost(options: LaneHostOptions): LaneHost {
  const messages: FromLaneHost[] = [];
  const child = options.start({ onMessage: (message) => void messages.push(message as FromLaneHost) });
  const exit = child.waitForExit({ timeoutMs: 600_000 });
  let fault: Error | undefined;
  const note = (error: Error): void => void (fault ??= error);
  exit.then(
    (end) => note(new Error(`expected the process to live, got its end ${JSON.stringify(end)}`)),
    (error: Error) => note(error),
  );
  const find = <K extends FromLaneHost["kind"]>(kind: K, lane: number): Extract<FromLaneHost, { kind: K }> | undefined =>
    messages.find(
      (message): message is Extract<FromLaneHost, { kind: K }> => message.kind === kind && "lane" in message && message.lane === lane,
    );
  const tell = (message: ToLaneHost): void => child.send(message);
  const faultSoFar = (): Error | undefined => {
    const failure = messages.find((message) => message.kind === "failed");
    if (failure !== undefined) note(new Error(failure.error));
    return fault;
  };
  const until: LaneHost["until"] = async (check, what, timeoutMs) => {
    const seen = await waitFor(
      async () => {
        const found = faultSoFar();
        if (found !== undefined) return { fault: found };
        const value = await check();
        return value ? { value } : null;
      },
      { what, timeoutMs },
    );
    if (seen.fault !== undefined) throw seen.fault;
    return seen.value as never;
  };
  return {
    lines: () => child.lines(),
    until,
    async open(lane, env, afterCall) {
      await until(() => Promise.resolve(messages.some(({ kind }) => kind === "ready")), "the process to be ready", TIMEOUT_MS);
      const ignore = (options.ignore ?? []).map(({ source }) => source);
      tell({ kind: "open", lane, plan: { env, ports: options.ports, ignore, ...(afterCall === undefined ? {} : { afterCall }) } });
      await until(() => Promise.resolve(find("opened", lane)), "the program to start", TIMEOUT_MS);
    },
    async arm(lane) {
      tell({ kind: "arm", lane });
      await until(() => Promise.resolve(find("armed", lane)), "the counting to begin", TIMEOUT_MS);
    },
    async close(lane) {
      tell({ kind: "close", lane });
      const end = await until(() => Promise.resolve(find("closed", lane) ?? find("crashed", lane)), "the program to end", TIMEOUT_MS);
      return end.kind === "closed" ? end.calls : undefined;
    },
    hasWorked: (lane) => find("worked", lane) !== undefined,
    callsIfCrashed: (lane) => find("crashed", lane)?.calls,
    async kill() {
      child.kill("SIGKILL");
      await exit.catch(() => undefined);
    },
  };
}
