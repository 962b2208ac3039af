import type { MarkdownRenderer } from "vitepress";

/** Has each page rendered as it is: VitePress compiles pages as templates, in which `{{ trigger.total }}` of ours would be an expression of theirs. */
export function keepPlainMarkdown(md: MarkdownRenderer): void {
  md.core.ruler.push("plain-markdown", (state) => {
    if (state.inlineMode) return;
    const [open, close] = ["<div v-pre>\n", "</div>\n"].map((content) => Object.assign(new state.Token("html_block", "", 0), { content }));
    if (open !== undefined && close !== undefined) state.tokens = [open, ...state.tokens, close];
  });
}
