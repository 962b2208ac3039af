import { codeBlocksOf, type CodeBlock } from "./code-blocks.ts";
import { readText } from "./repository.ts";

/** A command line of a document. */
export interface DocumentedCommand {
  readonly path: string;
  readonly line: number;
  readonly command: string;
}

/** What a line begins with that somebody is to type, whatever the block is called. */
const TYPED = /^(?:pnpm|npm|npx|node|toolctrl-cli|docker|git|cp|source|openssl|curl|psql)\b/;

/** Whether a block is there to be typed: one of `sh`, or one without a language of its own that begins like a command line. */
export function isTyped({ language, code }: CodeBlock): boolean {
  return language === "sh" || (["", "text", "bash", "console"].includes(language) && TYPED.test(code.trim()));
}

/** The command lines of a document, without their comments. The CLI is called as a checkout calls it. */
export function commandsOf(path: string): DocumentedCommand[] {
  return codeBlocksOf(readText(path))
    .filter(isTyped)
    .flatMap(({ code, line }) =>
      code.split("\n").flatMap((text, index) => {
        const command = text
          .replace(/\s+#.*$/, "")
          .trim()
          .replace(/^toolctrl-cli (?=\w)/, "pnpm toolctrl-cli ");
        return command === "" ? [] : [{ path, line: line + index, command }];
      }),
    );
}

/** The words of a command line; quotes, single or double, hold words together. */
export function wordsOf(command: string): string[] {
  return [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, single, double, plain]) => single ?? double ?? plain ?? "");
}

const CLI_TESTS = "apps/cli/test";
const STACK = "tooling/dev-stack/test/stack.e2e.test.ts";

/**
 * The commands that start everything, and the test that runs what they hand over to. The bootstrap in front of it (install, generate) runs
 * from a clean clone in `.ci/run`.
 */
export const RUN_ELSEWHERE: Readonly<Record<string, { readonly file: string; readonly title: string }>> = {
  "npm start": { file: STACK, title: "Ctrl-C in the middle of the traffic stops every process that was started" },
  "npm start -- --once --json": { file: STACK, title: "on Redis, all sample traffic has its effect once" },
  "npm start -- --mode pull": { file: STACK, title: "through pull workers, all sample traffic has its effect once" },
  "OUTBOX_PULL_WORKER=true npm start": { file: STACK, title: "the vote OUTBOX_PULL_WORKER=true has pull workers drain all of it" },
  "npm test": { file: ".ci/run", title: "npm test" },
  "pnpm packages:pack": { file: "tooling/package-check/src/main.ts", title: "packPackages()" },
  "pnpm consumer-map": { file: ".ci/run", title: "pnpm --silent consumer-map" },
  "pnpm exec vitest run apps/worker-general/test/exactly-one-effect/ai-cost-record.e2e.test.ts": {
    file: "apps/worker-general/test/exactly-one-effect/ai-cost-record.e2e.test.ts",
    title: "describeExactlyOneEffect",
  },
  "pnpm toolctrl-cli doctor": {
    file: `${CLI_TESTS}/installation.e2e.test.ts`,
    title: "doctor finds nothing on a good installation: one page, exit code 0",
  },
  "pnpm toolctrl-cli outbox probe": {
    file: `${CLI_TESTS}/installation.e2e.test.ts`,
    title: "probe goes the whole way of every route and reaches nobody",
  },
  "pnpm toolctrl-cli outbox tail --status FAILED,CANCELLED": { file: `${CLI_TESTS}/tail.int.test.ts`, title: "a filter narrows them" },
  "source <(toolctrl-cli complete bash)": { file: `${CLI_TESTS}/complete.e2e.test.ts`, title: "source <(toolctrl-cli complete bash)" },
  'toolctrl-cli() { node_modules/.bin/node --conditions=source apps/cli/src/main.ts "$@"; }': {
    file: `${CLI_TESTS}/complete.e2e.test.ts`,
    title: 'toolctrl-cli() { node_modules/.bin/node --conditions=source apps/cli/src/main.ts "$@"; }',
  },
  "pnpm toolctrl-cli complete fish > ~/.config/fish/completions/toolctrl-cli.fish": {
    file: `${CLI_TESTS}/complete.unit.test.ts`,
    title: "there is a script for each shell",
  },
  "node health.mjs /readyz": { file: "tooling/deploy-check/test/health.int.test.ts", title: "asks what it is told to" },
  "node node_modules/@toolctrl/cli/dist/main.js outbox stats": {
    file: "tooling/deploy-check/src/image/use-image.ts",
    title: "node_modules/@toolctrl/cli/dist/main.js",
  },
};

/** Commands that no test runs, and why. What they lead to is tried where the reason says. */
export const NOT_RUN: Readonly<Record<string, string>> = {
  "cp .env.example .env": "copies a file, which tooling/deploy-check holds against both compose files and the schemas",
  "git pull": "takes whatever the reader's remote has",
  "docker compose up --detach --build": "needs an engine; `pnpm image:steps` runs what the engine would",
  "docker compose exec worker-general node health.mjs /readyz": "needs an engine; the command inside is run by tooling/deploy-check",
  "docker compose exec worker-general node node_modules/@toolctrl/cli/dist/main.js outbox stats":
    "needs an engine; the program inside is run by `pnpm image:steps`",
};
