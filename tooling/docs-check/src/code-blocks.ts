/** A fenced block of a document. `line` is the number of its first line of code. */
export interface CodeBlock {
  readonly language: string;
  readonly code: string;
  readonly line: number;
}

/** The fenced blocks of a document, in order. */
export function codeBlocksOf(text: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open: { fence: string; language: string; line: number; code: string[] } | null = null;
  for (const [index, line] of text.split("\n").entries()) {
    const fence = /^\s*(```+)\s*(\w*)/.exec(line);
    if (open === null) {
      if (fence !== null) open = { fence: fence[1] ?? "", language: fence[2] ?? "", line: index + 2, code: [] };
    } else if (line.trim() === open.fence) {
      blocks.push({ language: open.language, code: open.code.join("\n"), line: open.line });
      open = null;
    } else {
      open.code.push(line);
    }
  }
  return blocks;
}

/** The document without its fenced blocks; lines keep their numbers. */
export function withoutCodeBlocks(text: string): string {
  const lines = text.split("\n");
  for (const { code, line } of codeBlocksOf(text)) {
    const count = code === "" ? 0 : code.split("\n").length;
    // The fences go too.
    lines.fill("", line - 2, line + count);
  }
  return lines.join("\n");
}
