import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** Forwards bytes, in order; while `pauseMs()` is a number, one byte at a time with that pause before each. */
export function dripTo(to: Socket, from: Socket, pauseMs: () => number | null): void {
  let sending: Promise<void> = Promise.resolve();
  from.on("data", (chunk: Buffer) => {
    sending = sending.then(() => send(to, chunk, pauseMs));
  });
  from.once("end", () => {
    void sending.then(() => to.end());
  });
}

async function send(to: Socket, chunk: Buffer, pauseMs: () => number | null): Promise<void> {
  for (let sent = 0; sent < chunk.length && to.writable;) {
    const pause = pauseMs();
    if (pause !== null) await delay(pause);
    const piece = pause === null ? chunk.subarray(sent) : chunk.subarray(sent, sent + 1);
    to.write(piece);
    sent += piece.length;
  }
}
