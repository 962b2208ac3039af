/** What the database puts around a hit: control characters, which it has removed from the text itself before. */
export const HIT_START = "\u0002";
export const HIT_END = "\u0003";

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
  [HIT_START]: "<mark>",
  [HIT_END]: "</mark>",
};

const SPECIAL = new RegExp(`[${Object.keys(ENTITIES).join("")}]`, "g");

/** A snippet as HTML: what the text holds is text, also where it looks like markup; only hits are marked up. */
export function snippetOf(marked: string): string {
  return marked.replaceAll(SPECIAL, (character) => ENTITIES[character] ?? "");
}
