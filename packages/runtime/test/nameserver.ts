import { createSocket } from "node:dgram";
import { once } from "node:events";
import { onTestFinished } from "vitest";

const TYPES: Readonly<Record<number, "A" | "AAAA">> = { 1: "A", 28: "AAAA" };

export interface Nameserver {
  /** `address:port`, as a resolver takes it. */
  readonly address: string;
  /** What was asked: `rebind.test A`. A question that is asked once more is there twice. */
  readonly asked: string[];
}

/** A DNS server on loopback that knows IPv4 addresses. Null says that there is no such name, undefined says nothing. */
export async function startNameserver(answer: (name: string) => readonly string[] | null | undefined): Promise<Nameserver> {
  const asked: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (query, client) => {
    const { name, type, end } = readQuestion(query);
    asked.push(`${name} ${TYPES[type] ?? type}`);
    const found = answer(name);
    if (found === undefined) return;
    const addresses = type === 1 ? (found ?? []) : [];
    const header = Buffer.from(query.subarray(0, 12));
    // A response, recursion available; code 3 where the name is unknown. One question, so many answers, nothing else.
    header.writeUInt16BE(found === null ? 0x8183 : 0x8180, 2);
    for (const [index, count] of [1, addresses.length, 0, 0].entries()) header.writeUInt16BE(count, 4 + 2 * index);
    socket.send(Buffer.concat([header, query.subarray(12, end), ...addresses.map(recordOf)]), client.port, client.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  onTestFinished(() => void socket.close());
  return { address: `127.0.0.1:${socket.address().port}`, asked };
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join("."), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** An A record of the name that was asked for, good for no time at all. */
function recordOf(address: string): Buffer {
  return Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split(".").map(Number)]);
}
