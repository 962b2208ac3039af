import { fileURLToPath } from "node:url";
import { anchorOf } from "@toolctrl/docs-check/links";
import { defineConfig, type Plugin } from "vitepress";
import { keepPlainMarkdown } from "../src/plain-markdown.ts";
import { keepRepositoryPaths } from "../src/repository-paths.ts";
import { navOf, readSections, sidebarOf } from "../src/sections.ts";

/** Pages are compiled to modules that import Vue, and stand where none is installed: VitePress has it. */
const vueOfVitePress: Plugin = {
  name: "vue-of-vitepress",
  enforce: "pre",
  resolveId(source, importer, options) {
    const fromPage = importer?.split("?")[0]?.endsWith(".md") === true;
    return fromPage && /^vue(?:\/|$)/.test(source) ? this.resolve(source, fileURLToPath(import.meta.resolve("vitepress")), options) : null;
  },
};

const sections = readSections();

export default defineConfig({
  title: "Toolctrl Outbox",
  description: "A transactional outbox with consumers and workflows: publish with the row, know where every event is.",
  srcDir: "../../docs",
  outDir: "dist",
  cacheDir: "node_modules/.cache/vitepress",
  head: [["style", {}, ".repository-path { text-decoration: underline dotted; cursor: help; }"]],
  markdown: {
    // The documents are Markdown and nothing else: `<id>` is a placeholder, and what looks like an address in prose is no link.
    html: false,
    linkify: false,
    anchor: { slugify: anchorOf },
    config: (md) => {
      keepRepositoryPaths(md);
      keepPlainMarkdown(md);
    },
  },
  vite: { plugins: [vueOfVitePress] },
  themeConfig: {
    nav: navOf(sections),
    sidebar: sidebarOf(sections),
    outline: { level: [2, 3] },
    search: { provider: "local" },
  },
});
