import { codeBlocksOf } from "./code-blocks.ts";
import { readText } from "./repository.ts";

/** A command line of a document. */
export interface DocumentedCommand {
  readonly path: string;
  readonly line: number;
  readonly command: string;
}

/** The command lines of a document's `sh` blocks, without their comments. */
export function commandsOf(path: string): DocumentedCommand[] {
  const blocks = codeBlocksOf(readText(path)).filter(({ language }) => language === "sh");
  return blocks.flatMap(({ code, line }) =>
    code.split("\n").flatMap((text, index) => {
      const command = text.replace(/\s+#.*$/, "").trim();
      return command === "" ? [] : [{ path, line: line + index, command }];
    }),
  );
}

/** The words of a command line; quotes, single or double, hold words together. */
export function wordsOf(command: string): string[] {
  return [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, single, double, plain]) => single ?? double ?? plain ?? "");
}

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
};
