import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { chunksOf } from "../src/rag.ts";
import { splitText, type PieceSizes } from "../src/rag/split-text.ts";

const length = (text: string): number => Array.from(text).length;

/** Sizes that the environment allows, and smaller ones. */
const sizes = fc.integer({ min: 4, max: 300 }).chain((maxCharacters) =>
  fc.record({
    maxCharacters: fc.constant(maxCharacters),
    overlapCharacters: fc.integer({ min: 0, max: Math.ceil(maxCharacters / 2) - 1 }),
  }),
);

/** Texts with everything that a boundary can hang on: paragraphs, sentences, words, none of them, and characters of two units. */
const text = fc
  .array(
    fc.oneof(
      { weight: 8, arbitrary: fc.stringMatching(/^[a-z]{1,9}$/) },
      { weight: 6, arbitrary: fc.constantFrom(" ", " ", "  ", "\n", "\n\n", "\n \n\n", ". ", "! ", '." ', "。", "？」", "\t", "\r\n\r\n") },
      { weight: 2, arbitrary: fc.string({ unit: "grapheme", maxLength: 12 }) },
      { weight: 1, arbitrary: fc.constantFrom("😀", "👩‍👩‍👧", "x".repeat(400), "😀".repeat(200), "\n".repeat(50)) },
    ),
    { maxLength: 120 },
  )
  .map((parts) => parts.join(""));

describe("the pieces of any text", () => {
  test("are the text, once what they repeat is left out", () => {
    fc.assert(
      fc.property(text, sizes, (whole, size) => {
        const pieces = splitText(whole, size);
        expect(pieces.map(({ ownStart, end }) => whole.slice(ownStart, end)).join("")).toBe(whole);
        expect(pieces.every(({ ownStart, end }) => ownStart < end)).toBe(true);
      }),
    );
  });

  test("are no longer than allowed, and each but the first repeats exactly as many characters as asked for", () => {
    fc.assert(
      fc.property(text, sizes, (whole, size) => {
        for (const [index, { start, ownStart, end }] of splitText(whole, size).entries()) {
          expect(length(whole.slice(start, end))).toBeLessThanOrEqual(size.maxCharacters);
          expect(length(whole.slice(start, ownStart))).toBe(index === 0 ? 0 : size.overlapCharacters);
        }
      }),
    );
  });

  test("are never cut inside of a character of two units", () => {
    fc.assert(
      fc.property(text, sizes, (whole, size) => {
        for (const { start, end } of splitText(whole, size)) expect(whole.slice(start, end).isWellFormed()).toBe(true);
      }),
    );
  });

  test("are few: each but the last brings at least half of what it may", () => {
    fc.assert(
      fc.property(text, sizes, (whole, size) => {
        for (const { ownStart, end } of splitText(whole, size).slice(1, -1)) {
          expect(length(whole.slice(ownStart, end)) * 2).toBeGreaterThanOrEqual(size.maxCharacters - size.overlapCharacters);
        }
      }),
    );
  });

  test("stay as they are when something is appended, up to those that could have reached the old end", () => {
    fc.assert(
      fc.property(text, text, sizes, (whole, more, size) => {
        const before = splitText(whole, size).filter(({ ownStart }) => length(whole.slice(ownStart)) > size.maxCharacters);
        expect(splitText(whole + more, size).slice(0, before.length)).toEqual(before);
      }),
    );
  });

  test("are the same again after a change, from where two of their ends have met", () => {
    fc.assert(
      fc.property(text, text, text, sizes, (before, after, rest, size) => {
        const endsIn = (head: string): number[] =>
          splitText(head + rest, size).flatMap(({ end }) => (end > head.length ? [end - head.length] : []));
        const [ends, others] = [endsIn(before), endsIn(after)];
        const meeting = ends.find((end) => others.includes(end)) ?? 0;
        expect(ends.filter((end) => end > meeting)).toEqual(others.filter((end) => end > meeting));
      }),
    );
  });
});

describe("a piece ends", () => {
  const prose = fc
    .array(fc.tuple(fc.stringMatching(/^[a-z]{1,9}$/), fc.constantFrom(" ", " ", " ", ". ", "\n\n")), { minLength: 40, maxLength: 120 })
    .map((words) => words.map(([word, end]) => word + end).join(""));

  test("after a paragraph, else a sentence, else a word, wherever its second half has an end of one", () => {
    fc.assert(
      fc.property(prose, fc.integer({ min: 20, max: 120 }), (whole, maxCharacters) => {
        for (const { start, end } of splitText(whole, { maxCharacters, overlapCharacters: 0 }).slice(0, -1)) {
          const half = whole.slice(start + Math.ceil(maxCharacters / 2), start + maxCharacters);
          // Half of a paragraph's end is the end of a line.
          if (/^\n|(?<!\n)\n$/.test(half)) continue;
          const best = ["\n\n", ". ", " "].find((mark) => half.includes(mark)) ?? "";
          expect(whole.slice(start, end).endsWith(best), `${JSON.stringify(half)} ends ${JSON.stringify(best)}`).toBe(true);
        }
      }),
    );
  });

  const ends = (whole: string, size: PieceSizes): string[] => splitText(whole, size).map(({ ownStart, end }) => whole.slice(ownStart, end));
  const twenty = { maxCharacters: 20, overlapCharacters: 0 };

  test("after a paragraph rather than after a sentence that ends later", () => {
    expect(ends("one two three\n\nFour. Five six seven.", twenty)).toEqual(["one two three\n\n", "Four. Five six ", "seven."]);
  });

  test("after a sentence rather than after a word that ends later", () => {
    expect(ends("One two three. Four five six seven", twenty)).toEqual(["One two three. ", "Four five six seven"]);
    expect(ends("他说：“今天天气很好。”我们去公园散步吧，好不好？好的", twenty)).toEqual([
      "他说：“今天天气很好。”",
      "我们去公园散步吧，好不好？好的",
    ]);
  });

  test("after a word rather than inside of one", () => {
    expect(ends("one two three four five six", twenty)).toEqual(["one two three four ", "five six"]);
  });

  test("inside of a word only where its second half has no end of one", () => {
    expect(ends("one twothreefourfivesixseveneight", twenty)).toEqual(["one twothreefourfive", "sixseveneight"]);
    expect(ends("😀".repeat(30), twenty)).toEqual(["😀".repeat(20), "😀".repeat(10)]);
  });
});

describe("the chunks of a text", () => {
  const size = { maxCharacters: 200, overlapCharacters: 40 };

  test("are none for a text of nothing or of blanks, and one, as it is, for a text that fits", () => {
    expect(chunksOf("", size)).toEqual([]);
    expect(chunksOf(" \n\t ".repeat(500), size)).toEqual([]);
    const contentHash = createHash("sha256").update("Grüße 😀", "utf8").digest("hex");
    expect(chunksOf("Grüße 😀", size)).toEqual([{ ordinal: 0, text: "Grüße 😀", contentHash }]);
    expect(chunksOf("x".repeat(200), size)).toHaveLength(1);
  });

  test("have places without gaps where pieces of blanks between them were left out", () => {
    const chunks = chunksOf(`${"a".repeat(200)}${" ".repeat(2000)}${"b".repeat(200)}`, size);
    expect(chunks.map(({ ordinal }) => ordinal)).toEqual(chunks.map((_, index) => index));
    expect(chunks.every((chunk) => chunk.text.trim() !== "")).toBe(true);
    expect(chunks.map((chunk) => chunk.text).join("")).toMatch(/^a+\s+b+$/);
  });

  test("are mostly the ones from before when a paragraph is put at the beginning", () => {
    const paragraphs = Array.from({ length: 80 }, (_, n) => `Paragraph ${n}. ${"It says a little more. ".repeat((n * 7) % 5)}`);
    const hashesOf = (parts: string[]): string[] => chunksOf(parts.join("\n\n"), size).map(({ contentHash }) => contentHash);
    const before = new Set(hashesOf(paragraphs));
    const after = hashesOf(["A new beginning. It has two sentences.", ...paragraphs]);
    expect(after.length).toBeGreaterThan(30);
    expect(after.filter((hash) => !before.has(hash)).length).toBeLessThan(5);
  });

  test("of the longest text in the smallest pieces are bounded in number", () => {
    const chunks = chunksOf("ab ".repeat(333_333), { maxCharacters: 200, overlapCharacters: 99 });
    expect(chunks.length).toBeGreaterThan(9000);
    expect(chunks.length).toBeLessThanOrEqual(1_000_000 / 50);
  });

  test("are the same each time, and of two texts only those that say the same have one hash", () => {
    fc.assert(
      fc.property(text, (whole) => {
        const chunks = chunksOf(whole, size);
        expect(chunksOf(whole, size)).toEqual(chunks);
        const byHash = new Map(chunks.map((chunk) => [chunk.contentHash, chunk.text]));
        expect(chunks.every((chunk) => byHash.get(chunk.contentHash) === chunk.text)).toBe(true);
        expect(byHash.size).toBe(new Set(chunks.map((chunk) => chunk.text)).size);
      }),
    );
  });
});
