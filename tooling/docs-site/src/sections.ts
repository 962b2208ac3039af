import { listFiles, readText } from "@toolctrl/docs-check/repository";

/** A part of the site. `pages` are paths below `docs/`. */
export interface Section {
  readonly title: string;
  readonly pages: readonly string[];
}

/** What somebody does, in the order in which it comes up. What a pattern adds stands in the order of its names. */
const STAGES: Readonly<Record<string, readonly string[]>> = {
  Start: ["guides/start.md", "guides/use-*.md"],
  Publish: ["guides/publish.md", "guides/application-events.md", "guides/forms.md"],
  Consume: [
    "guides/consume.md",
    "guides/add-a-consumer.md",
    "outbox-idempotency-audit.md",
    "guides/search.md",
    "guides/rag.md",
    "guides/ai-costs.md",
    "guides/marketing.md",
    "guides/plugins.md",
  ],
  Order: ["guides/order.md", "cascade-delete-lock-scope.md"],
  Workflows: ["guides/workflows.md", "guides/workflow-api.md"],
  Operate: ["guides/operate.md", "guides/deploy*.md", "guides/scale*.md", "guides/tracing.md"],
  Upgrade: ["guides/upgrade.md", "outbox-rollout-gate.md"],
};

/** What somebody looks up: whole folders. */
const FOLDERS: Readonly<Record<string, string>> = { Reference: "reference", Runbooks: "runbooks", Decisions: "adr" };

/** The page that leads to the others. */
export const ENTRY = "index.md";

/**
 * The sections of the site, from the files that are there.
 * @throws Error naming each page that no section has, and each that is named and not there
 */
export function readSections(): Section[] {
  const stages = Object.entries(STAGES).map(([title, patterns]) => ({ title, pages: patterns.flatMap(pagesLike) }));
  const folders = Object.entries(FOLDERS).map(([title, folder]) => ({ title, pages: pagesLike(`${folder}/*.md`) }));
  const sections = [...stages, ...folders];
  const listed = new Set([ENTRY, ...sections.flatMap(({ pages }) => pages)]);
  const all = pagesLike("**/*.md");
  const problems = [
    ...all.filter((page) => !listed.has(page)).map((page) => `docs/${page} is in no section`),
    ...[...listed].filter((page) => !all.includes(page)).map((page) => `docs/${page} is not there`),
  ];
  if (problems.length > 0) throw new Error(`expected every page of docs/ in a section of the site, got:\n${problems.join("\n")}`);
  return sections;
}

/** Pages below `docs/` that match a pattern; a name without one is kept, there or not. */
function pagesLike(pattern: string): string[] {
  return pattern.includes("*") ? listFiles(`docs/${pattern}`).map((path) => path.slice("docs/".length)) : [pattern];
}

/** What a page is called: its first heading. */
export function titleOf(page: string): string {
  const title = /^# (.+)$/m.exec(readText(`docs/${page}`))?.[1];
  if (title === undefined) throw new Error(`expected docs/${page} to begin with a heading, got none`);
  return title.replaceAll("`", "");
}

interface Entry {
  readonly text: string;
  readonly link: string;
}

const entryOf = (page: string): Entry => ({ text: titleOf(page), link: `/${page.replace(/(?:^index)?\.md$/, "")}` });

export interface SidebarGroup {
  readonly text: string;
  readonly collapsed: boolean;
  readonly items: Entry[];
}

/** The sidebar: every page, under its section. Stages are open, folders are not. */
export function sidebarOf(sections: readonly Section[]): SidebarGroup[] {
  const groups = sections.map(({ title, pages }) => ({
    text: title,
    collapsed: Object.hasOwn(FOLDERS, title),
    items: pages.map(entryOf),
  }));
  return [{ text: "Overview", collapsed: false, items: [entryOf(ENTRY)] }, ...groups];
}

/** The bar at the top: the first page of each stage, and each folder. */
export function navOf(sections: readonly Section[]): Array<Entry | { readonly text: string; readonly items: Entry[] }> {
  const firsts = sections.map(({ title, pages }) => ({ text: title, link: entryOf(pages[0] ?? ENTRY).link }));
  const isFolder = ({ text }: Entry): boolean => Object.hasOwn(FOLDERS, text);
  return [{ text: "Guides", items: firsts.filter((entry) => !isFolder(entry)) }, ...firsts.filter(isFolder)];
}
