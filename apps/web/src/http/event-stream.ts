import type { FastifyReply } from "fastify";

/** Proxies cut a connection that says nothing. */
const BEAT_MS = 15_000;
/** What may wait for a reader that is slower than the run, bytes. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** Events on a connection whose reader may be slow, or gone: neither is noticed by whoever sends. */
export interface EventStream {
  /** Leaves the event out where so much waits for the reader already that the next one will do. */
  offer(event: string, data: unknown): void;
  /** Sends the last event, and ends the response. */
  end(event: string, data: unknown): void;
}

/** Turns a reply into a stream of server-sent events. It begins with a comment, so that proxies and readers see it begin. */
export function openEventStream(reply: FastifyReply): EventStream {
  reply.hijack();
  const { raw } = reply;
  // Of a reader that is gone: the run goes on without it.
  raw.on("error", () => undefined);
  raw.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no" });
  const write = (text: string): void => {
    if (!raw.destroyed && !raw.writableEnded) raw.write(text);
  };
  const send = (event: string, data: unknown): void => write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  const beat = setInterval(() => write(": alive\n\n"), BEAT_MS);
  write(": stream\n\n");
  return {
    offer(event, data) {
      if (raw.writableLength <= MAX_WAITING_BYTES) send(event, data);
    },
    end(event, data) {
      clearInterval(beat);
      send(event, data);
      raw.end();
    },
  };
}
