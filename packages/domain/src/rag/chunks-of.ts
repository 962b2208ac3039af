import { createHash } from "node:crypto";
import { splitText, type PieceSizes } from "./split-text.ts";

/** A piece of a document's text, as it is kept and embedded. */
export interface Chunk {
  /** Its place in the document, from 0, without gaps. */
  readonly ordinal: number;
  readonly text: string;
  /** SHA-256 of the text in UTF-8, in hexadecimal. */
  readonly contentHash: string;
}

/** The chunks of a text; pieces that hold nothing but blanks are left out, as nobody asks for them and some models refuse them. */
export function chunksOf(text: string, sizes: PieceSizes): Chunk[] {
  return splitText(text, sizes)
    .map(({ start, end }) => text.slice(start, end))
    .filter((piece) => piece.trim() !== "")
    .map((piece, ordinal) => ({ ordinal, text: piece, contentHash: createHash("sha256").update(piece, "utf8").digest("hex") }));
}
