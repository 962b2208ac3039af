import { listFiles } from "@toolctrl/docs-check/repository";
import { expect, test } from "vitest";
import { repositoryPathOf } from "../src/repository-paths.ts";
import { navOf, readSections, sidebarOf, titleOf } from "../src/sections.ts";
import { siteProblems } from "../src/site-problems.ts";

const sections = readSections();
const documents = listFiles("docs/**/*.md").map((path) => path.slice("docs/".length));
const linkOf = (page: string): string => `/${page === "index.md" ? "" : page.replace(/\.md$/, "")}`;

test("every page of docs/ is in the sidebar once, under its own title, and every entry is a page", () => {
  const entries = sidebarOf(sections).flatMap(({ items }) => items);
  const expected = documents.map((page) => ({ text: titleOf(page), link: linkOf(page) }));
  const byLink = (a: { link: string }, b: { link: string }): number => (a.link < b.link ? -1 : 1);
  expect(documents.length).toBeGreaterThan(50);
  expect(entries.toSorted(byLink)).toEqual(expected.toSorted(byLink));
});

test("the sections are what somebody does, then what somebody looks up", () => {
  const stages = ["Start", "Publish", "Consume", "Order", "Workflows", "Operate", "Upgrade"];
  expect(sections.map(({ title }) => title)).toEqual([...stages, "Reference", "Runbooks", "Decisions"]);
  expect(navOf(sections).map(({ text }) => text)).toEqual(["Guides", "Reference", "Runbooks", "Decisions"]);
});

test("links out of docs/ become repository paths, all others stay, and one that leads nowhere ends the build", () => {
  expect(repositoryPathOf("guides/start.md", "../../CONTRIBUTING.md#set-up")).toBe("CONTRIBUTING.md");
  expect(repositoryPathOf("outbox-rollout-gate.md", "../packages/db/src/migrate.ts")).toBe("packages/db/src/migrate.ts");
  for (const href of ["operate.md", "../reference/env.md#consumers", "#here", "https://example.com/x", "/guides/start"]) {
    expect(repositoryPathOf("guides/start.md", href)).toBeNull();
  }
  expect(() => repositoryPathOf("guides/start.md", "../../packages/gone.ts")).toThrow("expected docs/guides/start.md to link to a file");
  expect(() => repositoryPathOf("guides/start.md", "../../../x.ts")).toThrow("got ../../../x.ts");
});

test("a built page that links to nothing, to no heading, or loads from another host is found", () => {
  const good = {
    path: "guides/b.html",
    html: `<h2 id="c">C</h2><a href="/index.html">up</a><a href="#c">c</a><a href="https://example.com/">e</a>`,
  };
  const head = `<script src="/assets/a.js"></script><link href="https://fonts.example.com/x.css">`;
  const links = `<a href="/guides/b.html#c"> <a href="/guides/b.html#d"> <a href="/guides/gone.html"> <a href="/guides/">`;
  expect(siteProblems([good, { path: "index.html", html: head + links }])).toEqual([
    "index.html: /guides/b.html#d has no such heading",
    "index.html: /guides/gone.html is not there",
    "index.html: /guides/ is not there",
    "index.html: https://fonts.example.com/x.css is of another host",
  ]);
});
