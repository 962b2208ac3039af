/** How large pieces of a text are, in characters (code points). */
export interface PieceSizes {
  /** Most characters of a piece, its overlap included. */
  readonly maxCharacters: number;
  /** Characters that a piece repeats from the end of the one before; less than half of `maxCharacters`. */
  readonly overlapCharacters: number;
}

/** A stretch of a text in UTF-16 units: what it repeats begins at `start`, what is its own at `ownStart`. */
export interface Piece {
  readonly start: number;
  readonly ownStart: number;
  readonly end: number;
}

/** Where a piece ends best, best first; each match ends there. */
const BOUNDARIES: readonly RegExp[] = [
  // A paragraph: a line break, an empty line, and what blanks follow.
  /\n[^\S\n]*\n\s*/g,
  // A sentence: its end mark, closing quotes or brackets and a blank; the marks of Chinese and Japanese need no blank; a line.
  /[.!?…]+["'”’»)\]]*\s+|[。！？]+[」』”’）]*\s*|\n\s*/g,
  // A word.
  /\s+/g,
];

/** Units before an end that tell it apart from other ends. */
const CONTEXT_UNITS = 32;

/**
 * Cuts a text into pieces that overlap: without what they repeat they are the text, none is longer than allowed, and all but the first
 * repeat exactly `overlapCharacters`. A piece ends after a paragraph, else a sentence, else a word, as far as its second half has an end
 * of one; else in the middle of a word, but never inside of a character.
 *
 * Of several ends the one is taken whose own words come first in an order that has nothing to do with its place. So a change moves the ends
 * near to it, and a few pieces further on they are again where they were; with the last or the first end taken, a paragraph more at the
 * beginning could shift every piece of a long text, and all of them would be embedded anew. What is appended leaves all but the last
 * pieces as they are: where a piece ends depends on nothing behind its longest end.
 */
export function splitText(text: string, { maxCharacters, overlapCharacters }: PieceSizes): Piece[] {
  const pieces: Piece[] = [];
  for (let ownStart = 0; ownStart < text.length;) {
    const repeated = ownStart === 0 ? 0 : overlapCharacters;
    const end = endOf(text, ownStart, maxCharacters - repeated);
    pieces.push({ start: retreat(text, ownStart, repeated), ownStart, end });
    ownStart = end;
  }
  return pieces;
}

function endOf(text: string, from: number, maxCharacters: number): number {
  const longest = advance(text, from, maxCharacters);
  if (longest === text.length) return longest;
  const shortest = advance(text, from, Math.ceil(maxCharacters / 2));
  const window = text.slice(shortest, longest);
  for (const boundary of BOUNDARIES) {
    const ends = Array.from(window.matchAll(boundary), (match) => shortest + match.index + match[0].length);
    if (ends.length > 0) return firstByContent(text, from, ends);
  }
  return longest;
}

function firstByContent(text: string, from: number, ends: readonly number[]): number {
  let first = { end: 0, hash: Number.POSITIVE_INFINITY };
  for (const end of ends) {
    const hash = hashOf(text.slice(Math.max(from, end - CONTEXT_UNITS), end));
    if (hash <= first.hash) first = { end, hash };
  }
  return first.end;
}

/** FNV-1a: spreads short texts evenly, and is the same everywhere and always. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/** The place `characters` after `from`, or the end of the text. */
function advance(text: string, from: number, characters: number): number {
  let at = from;
  for (let left = characters; left > 0 && at < text.length; left -= 1) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return at;
}

/** The place `characters` before `from`, or the beginning of the text. */
function retreat(text: string, from: number, characters: number): number {
  let at = from;
  for (let left = characters; left > 0 && at > 0; left -= 1) at -= at > 1 && (text.codePointAt(at - 2) ?? 0) > 0xffff ? 2 : 1;
  return at;
}
