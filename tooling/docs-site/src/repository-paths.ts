import { existsSync } from "node:fs";
import { join } from "node:path";
import { posix } from "node:path";
import { ROOT } from "@toolctrl/docs-check/repository";
import type { MarkdownRenderer } from "vitepress";

/**
 * The repository's path that a link of a page leads to, or null where it stays on the site or goes to another host.
 * @throws Error when nothing is there
 */
export function repositoryPathOf(page: string, href: string): string | null {
  const [target = ""] = href.split("#");
  if (target === "" || /^(?:[a-z][a-z+.-]*:|\/)/i.test(target)) return null;
  const path = posix.join("docs", posix.dirname(page), decodeURIComponent(target));
  if (path.startsWith("docs/")) return null;
  if (path.startsWith("..") || !existsSync(join(ROOT, path))) throw new Error(`expected docs/${page} to link to a file, got ${href}`);
  return path;
}

/**
 * Shows links to what is in the repository and not on the site as their text, with the path for those who point at it. The documents stay as a code
 * host shows them, where the same links work; the site knows no host.
 */
export function keepRepositoryPaths(md: MarkdownRenderer): void {
  md.core.ruler.after("inline", "repository-paths", (state) => {
    const page = (state.env as { relativePath?: string }).relativePath;
    if (page === undefined) return;
    for (const { children } of state.tokens) if (children !== null) markPaths(page, children);
  });
}

type Token = ReturnType<MarkdownRenderer["parse"]>[number];

function markPaths(page: string, tokens: readonly Token[]): void {
  let open = false;
  for (const token of tokens) {
    if (token.type === "link_open") {
      const path = repositoryPathOf(page, token.attrGet("href") ?? "");
      open = path !== null;
      if (path === null) continue;
      token.attrs = [
        ["class", "repository-path"],
        ["title", `In the repository: ${path}`],
      ];
    }
    if (!open || (token.type !== "link_open" && token.type !== "link_close")) continue;
    // Links do not nest: the next one that closes is this one's.
    if (token.type === "link_close") open = false;
    token.type = token.type === "link_open" ? "repository_path_open" : "repository_path_close";
    token.tag = "span";
  }
}
