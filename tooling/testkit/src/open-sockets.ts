import { Socket } from "node:net";

export interface OpenSocket {
  /** The other side's TCP port. */
  port: number;
  /** Where the connection was opened: the first places outside of installed packages. */
  from: string;
}

const SHOWN_PLACES = 4;

/** From now on remembers every connection this process opens; the returned function lists those that are still open. */
export function watchSockets(): () => OpenSocket[] {
  const open = new Map<Socket, string>();
  const connect = Socket.prototype.connect;
  Socket.prototype.connect = function watched(this: Socket, ...args: unknown[]) {
    open.set(this, new Error("opened").stack ?? "");
    this.once("close", () => open.delete(this));
    return Reflect.apply(connect, this, args) as Socket;
  };
  return () => [...open].map(([socket, stack]) => ({ port: socket.remotePort ?? 0, from: placesIn(stack) }));
}

function placesIn(stack: string): string {
  const places = stack
    .split("\n")
    .slice(2)
    .map((line) => line.trim());
  const own = places.filter((place) => !place.includes("node_modules") && !place.includes("node:"));
  return (own.length > 0 ? own : places).slice(0, SHOWN_PLACES).join(" ");
}
