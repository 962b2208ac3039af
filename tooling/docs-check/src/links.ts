import { existsSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { withoutCodeBlocks } from "./code-blocks.ts";
import { readText, ROOT } from "./repository.ts";

/** A link of a document, as it is written. */
export interface Link {
  readonly text: string;
  readonly target: string;
  readonly line: number;
}

/** The links of a document; those in code are not links. */
export function linksOf(document: string): Link[] {
  const lines = withoutCodeBlocks(document).split("\n");
  return lines.flatMap((line, index) =>
    [...line.matchAll(/\[((?:[^\][]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g)].map(([, text = "", target = ""]) => ({
      text,
      target,
      line: index + 1,
    })),
  );
}

/** The anchor of a heading, made as code hosts make it. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");
}

/** The anchors of a document's headings; one that is there already gets a number. */
export function anchorsOf(document: string): string[] {
  const seen = new Map<string, number>();
  const headings = withoutCodeBlocks(document).matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm);
  return [...headings].map(([, heading = ""]) => {
    const slug = anchorOf(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1"));
    const earlier = seen.get(slug) ?? 0;
    seen.set(slug, earlier + 1);
    return earlier === 0 ? slug : `${slug}-${earlier}`;
  });
}

/** What is wrong with the relative links of a document, a line each. Links to other hosts are not followed. */
export function brokenLinks(path: string, document: string = readText(path)): string[] {
  return linksOf(document).flatMap(({ target, line }) => {
    if (/^[a-z][a-z+.-]*:/i.test(target)) return [];
    const [file = "", anchor] = target.split("#");
    const linked = file === "" ? path : normalize(join(dirname(path), decodeURIComponent(file)));
    const where = `${path}:${line}`;
    if (linked.startsWith("..")) return [`${where}: ${target} leaves the repository`];
    if (linked !== path && !existsSync(join(ROOT, linked))) return [`${where}: ${target} is not there`];
    if (anchor === undefined) return [];
    if (!linked.endsWith(".md")) return [`${where}: ${target} is no document with headings`];
    const anchors = anchorsOf(linked === path ? document : readText(linked));
    return anchors.includes(anchor) ? [] : [`${where}: ${target} has no heading #${anchor}`];
  });
}
