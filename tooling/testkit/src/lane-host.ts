import { AsyncLocalStorage } from "node:async_hooks";
import { flushCompileCache } from "node:module";
import { Socket } from "node:net";
import { countedCall, type CountedCalls } from "./counted-call.ts";
import { hookWrites, type OnWrite } from "./hook-writes.ts";
import type { FromLaneHost, LanePlan, ToLaneHost } from "./lane-messages.ts";

/** What was opened in a lane. */
export interface InLane {
  /** Does its work, where it is not given it from outside; the calls count from here. */
  go?(): Promise<void>;
  close(): Promise<void>;
}

interface Lane extends CountedCalls {
  readonly id: number;
  readonly afterCall: number;
  readonly calls: string[];
  armed: boolean;
  /** It has made its last call: nothing leaves it from then on, until the process is killed. */
  dead: boolean;
  inside?: InLane;
}

/**
 * The main file of a process with lanes: several copies of one program, each with connections of its own, told by the test what to do.
 *
 * A lane that has made its k-th call is cut off: nothing of what its code still does leaves the process, which is killed when every lane
 * is where it has to be. To the servers that is what a kill right after the call is: the call came, then nothing, then the end of
 * the connections. So one process dies at many places at once.
 *
 * A connection belongs to the lane in whose asynchronous context it was made.
 */
export function hostLanes(open: (env: Readonly<Record<string, string>>) => Promise<InLane>): void {
  const lanes = new Map<number, Lane>();
  const context = new AsyncLocalStorage<Lane>();
  const owners = ownersOfSockets(context);
  hookWrites((socket, bytes, write) => onWrite(owners.get(socket), lanes, socket, bytes, write));

  async function obey(message: ToLaneHost): Promise<void> {
    const { lane: id } = message;
    if (message.kind === "open") {
      const lane = laneOf(id, message.plan);
      lanes.set(id, lane);
      lane.inside = await context.run(lane, () => open(message.plan.env));
      return tell({ kind: "opened", lane: id });
    }
    const lane = lanes.get(id);
    if (lane?.inside === undefined) throw new Error(`expected lane ${id} to be open`);
    const { inside } = lane;
    if (message.kind === "arm") {
      lane.armed = true;
      tell({ kind: "armed", lane: id });
      if (inside.go === undefined) return;
      await context.run(lane, inside.go);
      return tell({ kind: "worked", lane: id });
    }
    await context.run(lane, () => inside.close());
    if (!lane.dead) tell({ kind: "closed", lane: id, calls: lane.calls });
  }

  process.on("message", (message: ToLaneHost) => {
    obey(message).catch((error: unknown) => tell({ kind: "failed", lane: message.lane, error: describe(error) }));
  });
  for (const event of ["unhandledRejection", "uncaughtException"] as const) {
    process.on(event, (error: unknown) => tell({ kind: "failed", lane: null, error: `${event}: ${describe(error)}` }));
  }
  // Without its test there is nobody to tell when to end.
  process.on("disconnect", () => process.exit(1));
  tell({ kind: "ready" });
  // It will be killed, and what it compiled would be lost to the next one.
  flushCompileCache();
}

function laneOf(id: number, plan: LanePlan): Lane {
  return {
    id,
    ports: new Map(Object.entries(plan.ports).map(([port, label]) => [Number(port), label])),
    ignore: plan.ignore.map((source) => new RegExp(source, "is")),
    afterCall: plan.afterCall ?? Infinity,
    calls: [],
    armed: false,
    dead: false,
  };
}

/** Notes whose a connection is when it is made; what is written to it later may come from anywhere. */
function ownersOfSockets(context: AsyncLocalStorage<Lane>): WeakMap<Socket, Lane> {
  const owners = new WeakMap<Socket, Lane>();
  const connect = Reflect.get(Socket.prototype, "connect") as (this: Socket, ...args: unknown[]) => Socket;
  Socket.prototype.connect = function connectInLane(this: Socket, ...args: unknown[]) {
    const lane = context.getStore();
    if (lane !== undefined) owners.set(this, lane);
    return connect.apply(this, args);
  };
  return owners;
}

function onWrite(lane: Lane | undefined, lanes: ReadonlyMap<number, Lane>, ...[socket, bytes, write]: Parameters<OnWrite>): void {
  if (lane === undefined) {
    const counts = [...lanes.values()].some(({ ports }) => ports.has(socket.remotePort ?? 0));
    if (counts) tell({ kind: "failed", lane: null, error: `expected a connection to port ${socket.remotePort} to be of a lane, got none` });
    return write();
  }
  if (lane.dead) return;
  const call = lane.armed ? countedCall(lane, socket, bytes()) : null;
  if (call === null) return write();
  lane.calls.push(call);
  if (lane.calls.length < lane.afterCall) return write();
  lane.dead = true;
  write(() => tell({ kind: "crashed", lane: lane.id, calls: lane.calls }));
}

function tell(message: FromLaneHost): void {
  process.send?.(message);
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
