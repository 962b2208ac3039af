import type { CrashLanesOptions } from "./crash-lanes.ts";
import type { LaneState } from "./run-lanes.ts";

/** A program and its work, to be cut off at each of its calls. Every copy of it has a world (database, queue, …) of its own. */
export interface LaneSuite<World> {
  open(): Promise<World>;
  /** The environment of the program in its world. */
  env(world: World): Readonly<Record<string, string>>;
  /** Default: it serves as soon as it is open. */
  isServing?(world: World): Promise<boolean>;
  /** Gives the program its work; default: it goes by itself. */
  handOver?(world: World): Promise<void>;
  /** Default: `done` when it has done what it does by itself. */
  state?(world: World): Promise<LaneState>;
  /** Waits until the servers have seen the last of the killed process. */
  settle(world: World): Promise<void>;
  /** What the product does by itself afterwards, time included. */
  recover(world: World): Promise<void>;
  /** Throws where the world is not as it has to be; `crashed` is false where the program had ended when the process was killed. */
  check(world: World, run: { readonly crashed: boolean }): Promise<void>;
  close(world: World): Promise<void>;
}

/** The story of one copy. */
export function storyOf<World>(suite: LaneSuite<World>): ReturnType<CrashLanesOptions["story"]> {
  let opened: { readonly world: World } | undefined;
  const inWorld = <T>(use: (world: World) => T): T => {
    if (opened === undefined) throw new Error("expected the world to be open");
    return use(opened.world);
  };
  const { state } = suite;
  return {
    async open() {
      opened = { world: await suite.open() };
      return inWorld((world) => suite.env(world));
    },
    isServing: () => inWorld((world) => suite.isServing?.(world) ?? Promise.resolve(true)),
    handOver: () => inWorld((world) => suite.handOver?.(world) ?? Promise.resolve()),
    ...(state === undefined ? {} : { state: () => inWorld(state) }),
    settle: () => inWorld((world) => suite.settle(world)),
    recover: () => inWorld((world) => suite.recover(world)),
    check: (run) => inWorld((world) => suite.check(world, run)),
    async close() {
      if (opened !== undefined) await suite.close(opened.world);
    },
  };
}
