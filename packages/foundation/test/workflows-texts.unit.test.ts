import { describe, expect, test } from "vitest";
import { BLOCK_IDS, BLOCK_TEXTS, type BlockText, LANGUAGES } from "../src/workflows.ts";

// As a catalogue that was edited without the compiler would be read.
const texts: Partial<Record<string, Partial<Record<string, Partial<BlockText>>>>> = BLOCK_TEXTS;

test("the texts are in English and German, of every block and of nothing else", () => {
  expect(LANGUAGES).toEqual(["en", "de"]);
  expect(Object.keys(texts)).toEqual(LANGUAGES);
  for (const language of LANGUAGES) expect(Object.keys(texts[language] ?? {}), language).toEqual(BLOCK_IDS);
});

describe.each(BLOCK_IDS)("%s", (block) => {
  test.each(["name", "help"] as const)("has its %s in every language, each its own", (part) => {
    const said = LANGUAGES.map((language) => texts[language]?.[block]?.[part]?.trim() ?? "");
    expect(said.filter((text) => text === "")).toEqual([]);
    expect(new Set(said).size).toBe(LANGUAGES.length);
  });

  test.each(LANGUAGES)("has a name that no other block has in %s, and a sentence as its help", (language) => {
    const names = BLOCK_IDS.map((id) => texts[language]?.[id]?.name);
    expect(names.filter((name) => name === texts[language]?.[block]?.name)).toHaveLength(1);
    expect(texts[language]?.[block]?.help).toMatch(/^\p{Lu}.+\.$/u);
  });
});
