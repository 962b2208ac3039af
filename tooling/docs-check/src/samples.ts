import { codeBlocksOf, type CodeBlock } from "./code-blocks.ts";
import { isTyped } from "./commands.ts";
import { listFiles, readText } from "./repository.ts";

/** A fenced block of a page. */
export interface Sample extends CodeBlock {
  readonly path: string;
}

/** What a page shows and nobody types: how the block begins, what it is, and the test that holds it. */
const SHOWN: Readonly<Record<string, ReadonlyArray<{ readonly begins: string; readonly why: string }>>> = {
  "docs/guides/add-a-consumer.md": [
    { begins: "ok     delivered twice", why: "output; add-a-consumer.e2e.test.ts compares it with the report" },
  ],
  "docs/guides/operate.md": [
    { begins: '{\n  "name": "Approval"', why: "the file that the commands of the page are given: run-for-command.ts" },
  ],
  "docs/guides/marketing.md": [{ begins: "PUT /v1/contacts/", why: "what a provider receives: messages.unit.test.ts" }],
  "docs/guides/plugins.md": [{ begins: '{ "type": "plugin.hook.lead.created"', why: "what a plugin receives: messages.unit.test.ts" }],
  "docs/guides/workflow-api.md": [{ begins: '{ "error": {', why: "what a caller is answered: messages.unit.test.ts" }],
  "docs/reference/webhooks.md": [{ begins: '{ "type": "webhook.invoice.paid"', why: "what an endpoint receives: messages.unit.test.ts" }],
};

/** The fenced blocks of pages. */
export function samplesOf(paths: readonly string[]): Sample[] {
  return paths.flatMap((path) => codeBlocksOf(readText(path)).map((block) => ({ ...block, path })));
}

/**
 * Samples that nothing runs and nothing excuses, a line each; and excuses for what is not there.
 *
 * - `ts` is run where a test asks for it by `exampleOf`;
 * - what is typed is the commands' matter (`commands.int.test.ts`);
 * - `sql` is run where it stands in a runbook;
 * - a picture is drawn with lines; all others are listed here.
 */
export function unheldSamples(samples: readonly Sample[], asked: readonly AskedExample[] = askedExamples()): string[] {
  const unheld = samples
    .filter((sample) => !isHeld(sample, asked))
    .map(({ path, line, language }) => `${path}:${line}: ${language || "no language"}`);
  const stale = Object.entries(SHOWN).flatMap(([path, shown]) =>
    shown
      .filter(({ begins }) => !samples.some((sample) => sample.path === path && sample.code.startsWith(begins)))
      .map(({ begins }) => `${path}: expected a sample that begins with ${JSON.stringify(begins)}, got none`),
  );
  return [...unheld, ...stale];
}

function isHeld(sample: Sample, asked: readonly AskedExample[]): boolean {
  const { path, language, code } = sample;
  if (language === "ts") return asked.some((example) => example.path === path && code.includes(example.text));
  if (language === "sql") return path.startsWith("docs/runbooks/");
  if (isTyped(sample)) return true;
  if (language === "" && /[─│┌►]/.test(code)) return true;
  return SHOWN[path]?.some(({ begins }) => code.startsWith(begins)) === true;
}

/** An example that a test asks for by `exampleOf`. */
export interface AskedExample {
  readonly path: string;
  readonly text: string;
}

/** What the tests of this package ask for, read from their sources: they run in processes of their own. */
export function askedExamples(): AskedExample[] {
  return listFiles("tooling/docs-check/test/*.ts").flatMap((file) => {
    const source = readText(file);
    const constants = new Map([...source.matchAll(/^const (\w+) = "([^"]+\.md)";/gm)].map(([, name = "", path = ""]) => [name, path]));
    return [...source.matchAll(/exampleOf\((\w+|"[^"]+"), ("[^"]*"|`[^`]*`)\)/g)].map(([, page = "", text = ""]) => ({
      path: constants.get(page) ?? page.slice(1, -1),
      text: text.slice(1, -1),
    }));
  });
}
