// Loaded before an app: the first time it is about to send a text that holds BLOCK_BEFORE to a server, its event loop stands still
// until the file BLOCK_UNTIL is there. It says "blocking" first. Nothing else in the process runs meanwhile: no timer, no renewal.
import { existsSync } from "node:fs";
import { Socket } from "node:net";

const { BLOCK_BEFORE = "", BLOCK_UNTIL = "" } = process.env;
const write = Socket.prototype.write;
let blocked = false;

Socket.prototype.write = function blocking(this: Socket, ...args: unknown[]) {
  const [chunk] = args;
  if (!blocked && (typeof chunk === "string" || chunk instanceof Uint8Array) && Buffer.from(chunk).includes(BLOCK_BEFORE)) {
    blocked = true;
    process.stdout.write("blocking\n");
    const cell = new Int32Array(new SharedArrayBuffer(4));
    while (!existsSync(BLOCK_UNTIL)) Atomics.wait(cell, 0, 0, 20);
  }
  return Reflect.apply(write, this, args) as boolean;
};
