import { globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

/** A page that was built: where it is, below the site, and its HTML. */
export interface BuiltPage {
  readonly path: string;
  readonly html: string;
}

/** The pages of a built site. */
export function readSite(folder: string): BuiltPage[] {
  return globSync("**/*.html", { cwd: folder }).map((path) => ({ path, html: readFileSync(join(folder, path), "utf8") }));
}

/**
 * What is wrong with a built site, a line each: links to pages or headings that are not there, and what a browser would load from another host. The build
 * itself refuses links to missing pages, and asks neither for headings nor for what themes bring along.
 */
export function siteProblems(pages: readonly BuiltPage[]): string[] {
  const anchors = new Map(pages.map(({ path, html }) => [path, new Set(attributesOf(html, "id"))]));
  return pages.flatMap(({ path, html }) => [
    ...attributesOf(html, "href").flatMap((href) => deadLink(path, href, anchors)),
    ...foreignSources(html).map((url) => `${path}: ${url} is of another host`),
  ]);
}

function attributesOf(html: string, name: string): string[] {
  return [...html.matchAll(new RegExp(`\\s${name}="([^"]*)"`, "g"))].map(([, value = ""]) => value);
}

function deadLink(page: string, href: string, anchors: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const [target = "", anchor = ""] = decodeURIComponent(href).split("#");
  if (/^(?:[a-z][a-z+.-]*:|\/\/)/i.test(target) || (target !== "" && !/(?:\.html|\/)$/.test(target))) return [];
  const file = target === "" ? page : posix.join(target.startsWith("/") ? "" : posix.dirname(page), target.replace(/\/$/, "/index.html"));
  const ids = anchors.get(file.replace(/^\//, ""));
  if (ids === undefined) return [`${page}: ${href} is not there`];
  return anchor === "" || ids.has(anchor) ? [] : [`${page}: ${href} has no such heading`];
}

function foreignSources(html: string): string[] {
  const tags = [...html.matchAll(/<(?:script|link|img|iframe|source)\b[^>]*>/g)].map(([tag]) => tag);
  return tags.flatMap((tag) => [...attributesOf(tag, "src"), ...attributesOf(tag, "href")]).filter((url) => /^(?:https?:)?\/\//i.test(url));
}
