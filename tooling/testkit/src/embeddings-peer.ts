import { createHash } from "node:crypto";
import { startHttpPeer, type HttpPeer, type Responder } from "./http-peer.ts";

/** An endpoint that speaks OpenAI's `POST /v1/embeddings`, with vectors whose angles a test knows. */
export interface EmbeddingsPeer extends Pick<HttpPeer, "port" | "requests" | "connections" | "nextRequest" | "close"> {
  /** The endpoint. */
  readonly url: string;
  /** Every text that was asked for so far, in order, also where no vector was given. */
  inputs(): string[];
  /** Sets how requests are answered from now on; null is {@link answerWithVectors}. */
  respond(responder: Responder | null): void;
}

const MARK = /@(-?\d+(?:\.\d+)?)/g;

/**
 * The vector of a text: of length 1 and in the direction that its last mark `@<degrees>` names, in the plane of the first two of four
 * coordinates; a text without a mark lies somewhere in the plane of the other two, at a right angle to all marked ones.
 */
export function vectorOf(text: string): number[] {
  const degrees = [...text.matchAll(MARK)].at(-1)?.[1];
  if (degrees !== undefined) return [...onCircle((Number(degrees) * Math.PI) / 180), 0, 0];
  return [0, 0, ...onCircle((createHash("sha256").update(text).digest().readUInt16BE() / 65_536) * 2 * Math.PI)];
}

function onCircle(angle: number): [number, number] {
  return [Math.cos(angle), Math.sin(angle)];
}

/** The right answer to a request. */
export const answerWithVectors: Responder = ({ text }) => {
  const { model, input } = JSON.parse(text) as { model: string; input: string[] };
  const data = input.map((each, index) => ({ object: "embedding", index, embedding: vectorOf(each) }));
  return { headers: { "content-type": "application/json" }, body: JSON.stringify({ object: "list", model, data }) };
};

/** Starts an embeddings endpoint on loopback. */
export async function startEmbeddingsPeer(options: { port?: number } = {}): Promise<EmbeddingsPeer> {
  const peer = await startHttpPeer(options);
  peer.respond(answerWithVectors);
  return {
    port: peer.port,
    requests: peer.requests,
    url: `${peer.url}/v1/embeddings`,
    connections: () => peer.connections(),
    inputs: () => peer.requests.flatMap(({ text }) => (JSON.parse(text) as { input: string[] }).input),
    respond: (responder) => peer.respond(responder ?? answerWithVectors),
    nextRequest: () => peer.nextRequest(),
    close: () => peer.close(),
  };
}
