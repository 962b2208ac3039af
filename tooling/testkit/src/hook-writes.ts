/* oxlint-disable no-underscore-dangle -- the one method of Node that sees each flush as a whole */
import { Socket } from "node:net";

type WriteDone = (error?: Error | null) => void;
type GenericWrite = (this: Socket, writev: boolean, data: unknown, encoding: BufferEncoding, done: WriteDone) => unknown;

/** Decides about a flush: `write` hands it to the kernel, and without that it never leaves. `flushed` is called when the kernel has it. */
export type OnWrite = (socket: Socket, bytes: () => Buffer, write: (flushed?: () => void) => void) => void;

/**
 * Every flush of every socket of this process goes through `_writeGeneric`: pg, ioredis, nodemailer, undici and TLS alike. What was
 * corked arrives as one flush, so a call is what the other side gets at once. Node has no public place that does not split it.
 */
export function hookWrites(onWrite: OnWrite): void {
  const prototype = Socket.prototype as unknown as { _writeGeneric?: GenericWrite };
  const original = prototype._writeGeneric;
  if (original === undefined) throw new Error("expected net.Socket to have _writeGeneric, got another version of Node: adapt hook-writes");
  prototype._writeGeneric = function hooked(writev, data, encoding, done) {
    const write = (flushed?: () => void): void => {
      original.call(this, writev, data, encoding, (error) => {
        flushed?.();
        done(error);
      });
    };
    // A socket that is still connecting keeps the data and comes here again with it.
    if (this.connecting) return write();
    onWrite(this, () => toBuffer(writev, data, encoding), write);
  };
}

function toBuffer(writev: boolean, data: unknown, encoding: BufferEncoding): Buffer {
  if (!writev) return typeof data === "string" ? Buffer.from(data, encoding) : Buffer.from(data as Uint8Array);
  const chunks = data as Array<{ chunk: string | Uint8Array; encoding: BufferEncoding }>;
  return Buffer.concat(chunks.map((part) => (typeof part.chunk === "string" ? Buffer.from(part.chunk, part.encoding) : part.chunk)));
}
