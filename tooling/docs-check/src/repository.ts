import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the repository. */
export const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

const NOT_OURS = new Set(["node_modules", "dist", "generated", "coverage"]);

/** Paths that match a glob, relative to the repository, in order; nothing that is installed, built or hidden. */
export function listFiles(pattern: string): string[] {
  const exclude = (path: string): boolean =>
    path.split("/").some((part) => NOT_OURS.has(part) || (part.startsWith(".") && part.length > 2));
  return globSync(pattern, { cwd: ROOT, exclude })
    .filter((path) => !exclude(path))
    .sort();
}

/** The text of a file of the repository. */
export function readText(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** Every document of the repository. */
export function listDocuments(): string[] {
  return listFiles("**/*.md");
}

/** The documents whose commands and samples are run: all of the site, and the two that lead to it. */
export function listPages(): string[] {
  return ["README.md", "CONTRIBUTING.md", ...listFiles("docs/**/*.md")];
}

/** The pages for somebody whom an alert has woken. */
export function listRunbooks(): string[] {
  return listFiles("docs/runbooks/*.md");
}
