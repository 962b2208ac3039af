import type { Socket } from "node:net";
import { describeCall } from "./wire-calls.ts";

/** Which writes of a process are calls: those to these ports (with a label each), but for those that match one of `ignore`. */
export interface CountedCalls {
  readonly ports: ReadonlyMap<number, string>;
  readonly ignore: readonly RegExp[];
}

/** The description of a write, or null where it is none of the counted calls. */
export function countedCall({ ports, ignore }: CountedCalls, socket: Socket, bytes: Buffer): string | null {
  const label = ports.get(socket.remotePort ?? 0);
  if (label === undefined) return null;
  const call = describeCall(label, bytes);
  if (call === null) return null;
  const text = `${call}\n${bytes.subarray(0, 4096).toString("latin1")}`;
  return ignore.some((pattern) => pattern.test(text)) ? null : call;
}
