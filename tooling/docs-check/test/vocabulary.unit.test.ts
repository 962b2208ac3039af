import { ERROR_CODES } from "@toolctrl/foundation/errors";
import { describeEnv } from "@toolctrl/runtime/env";
import { METRICS } from "@toolctrl/runtime/metrics";
import { describe, expect, test } from "vitest";
import { loadCli, type CliCommand } from "../src/cli-page.ts";
import { renderEnvPage } from "../src/env-page.ts";
import { listProgramEnvs } from "../src/env-schemas.ts";
import { listDocuments, listFiles, readText } from "../src/repository.ts";

const glossary = readText("docs/reference/glossary.md");
const documents = listDocuments().map((path) => ({ path, text: readText(path) }));

function rowsOf(section: string): Array<[string, string]> {
  return [...section.matchAll(/^\| ([^|]+) \| ([^|]+) \|$/gm)]
    .map(([, word = "", meaning = ""]): [string, string] => [word, meaning])
    .filter(([word]) => !/^(?:word|instead of|---)$/.test(word));
}

async function helpOfCli(): Promise<string[]> {
  const helpOf = (command: CliCommand): string[] => [command.helpInformation(), ...command.commands.flatMap(helpOf)];
  return helpOf(await loadCli());
}

describe("one vocabulary", () => {
  const [used = "", avoided = ""] = glossary.split("## Words we do not use");

  test("the glossary has each word once", () => {
    const words = rowsOf(used).map(([word]) => word);
    expect(words.length).toBeGreaterThan(50);
    expect(words.filter((word, index) => words.indexOf(word) !== index)).toEqual([]);
  });

  test("commands, metrics, errors and settings say none of the words that the glossary avoids", async () => {
    const envs = (await listProgramEnvs()).flatMap(({ shape }) => describeEnv(shape).map(({ about }) => about));
    const errors = Object.values(ERROR_CODES).map(({ fix }) => fix);
    const metrics = Object.values(METRICS).map(({ help }) => help);
    const said = [...(await helpOfCli()), ...envs, ...errors, ...metrics];
    const words = rowsOf(avoided).map(([word]) => word);
    expect(words).toContain("subscriber");
    const pattern = new RegExp(`\\b(?:${words.map((word) => word.replaceAll(" ", "[ -]")).join("|")})`, "i");
    expect(said.filter((text) => pattern.test(text))).toEqual([]);
  });

  test("every verdict of `outbox trace` is in the guide for operators", () => {
    const union = /state:\s+(?:\| )?("[^;]+);/.exec(readText("packages/outbox-drainer/src/stats/judge-event.ts"))?.[1] ?? "";
    const verdicts = [...union.matchAll(/"([a-z-]+)"/g)].map(([, verdict]) => verdict);
    expect(verdicts.length).toBeGreaterThan(5);
    const guide = readText("docs/guides/operate.md");
    expect(verdicts.filter((verdict) => !guide.includes(`| \`${verdict}\` |`))).toEqual([]);
  });
});

describe("what the documents name exists", () => {
  function namedBy(pattern: RegExp): Array<{ path: string; name: string }> {
    return documents.flatMap(({ path, text }) => [...text.matchAll(pattern)].map(([, name = ""]) => ({ path, name })));
  }

  test("error codes", () => {
    const codes = namedBy(
      /\b((?:ENV|PUBLISH|ROUTER|QUEUE|RECEIVER|STORE|DB|MIGRATE|HTTP|MAIL|WEBHOOK|AUDIT|ROW|FORM|WORKFLOW|API|CLI|RAG)\.[A-Z_]+)\b/g,
    );
    expect(codes.length).toBeGreaterThan(20);
    expect(codes.filter(({ name }) => !Object.hasOwn(ERROR_CODES, name))).toEqual([]);
  });

  test("metrics", () => {
    const metrics = namedBy(/`((?:outbox|queue|drainer|workflow|database|web)_[a-z_]+)`/g);
    expect(metrics.length).toBeGreaterThan(20);
    expect(metrics.filter(({ name }) => !Object.hasOwn(METRICS, name))).toEqual([]);
  });

  test("settings", async () => {
    const page = await renderEnvPage();
    const settings = namedBy(
      /`((?:OUTBOX|QUEUE|DATABASE|REDIS|SMTP|MAIL|WEBHOOK|WORKER|TEST|SENTRY|HEALTH|SHUTDOWN|LOG|RAG|WEB|WORKFLOW)_[A-Z_]+)[`=]/g,
    );
    expect(settings.length).toBeGreaterThan(20);
    expect(settings.filter(({ name }) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  test("options, commands and exit codes of the CLI: those the reference names are those that --help names", async () => {
    const help = (await helpOfCli()).join("\n");
    const page = readText("docs/reference/cli.md");
    const optionsOf = (text: string): Set<string> => new Set([...text.matchAll(/(?<![\w-])--[a-z][a-z-]+/g)].map(([option]) => option));
    const known = optionsOf(help);
    expect([...optionsOf(page)].filter((option) => !known.has(option) && option !== "--conditions")).toEqual([]);
    expect([...known].filter((option) => !optionsOf(page).has(option))).toEqual([]);
    const usages = [...help.matchAll(/^Usage: toolctrl-cli (\w+ [a-z]+) /gm)]
      .map(([, name = ""]) => name)
      .filter((name) => !name.endsWith(" options"));
    expect(usages.length).toBeGreaterThan(9);
    expect(usages.filter((name) => !page.includes(`| \`${name}`))).toEqual([]);
    const codes = [...readText("apps/cli/src/exit-codes.ts").matchAll(/^ {2}(\d) {2}\w/gm)].map(([, code]) => code);
    expect([...page.matchAll(/^\| (\d) \|/gm)].map(([, code]) => code)).toEqual(codes);
  });

  test("commands of the CLI that stand in a sentence, with their options", async () => {
    const help = await helpOfCli();
    const named = namedBy(/`(?:pnpm )?toolctrl-cli ([a-z][^`]*)`/g).map(({ path, name }) => ({ path, name: name.replaceAll(/\s+/g, " ") }));
    expect(named.length).toBeGreaterThan(10);
    const isKnown = (command: string): boolean => {
      const [first = "", second = ""] = command.split(" ");
      // A group by itself is no command: with a word behind it, the word has to be one.
      const usages = /^[a-z]/.test(second) ? [`Usage: toolctrl-cli ${first} ${second} `] : [`Usage: toolctrl-cli ${first} `];
      const text = usages.map((usage) => help.find((page) => page.startsWith(usage))).find((page) => page !== undefined);
      const options = [...command.matchAll(/(?<![\w-])--[a-z][a-z-]+/g)].map(([option]) => option);
      return text !== undefined && options.every((option) => text.includes(option) || (help[0] ?? "").includes(option));
    };
    expect(named.filter(({ name }) => !isKnown(name))).toEqual([]);
  });

  test("every metric of the table is recorded somewhere", () => {
    const sources = listFiles("{apps,packages}/*/src/**/*.ts")
      .filter((path) => !path.endsWith("metrics-table.ts"))
      .map(readText);
    const recorded = new Set(
      sources.flatMap((text) => [...text.matchAll(/\.(?:add|set|observe)\(\s*"([a-z_]+)"/g)].map(([, name]) => name)),
    );
    expect(Object.keys(METRICS).filter((name) => !recorded.has(name))).toEqual([]);
  });

  test("the map of ARCHITECTURE.md has every app, package and tool, and no other", () => {
    const map = readText("ARCHITECTURE.md").split("## The map")[1]?.split("```")[1] ?? "";
    const folders = (group: string): string[] => listFiles(`${group}/*/package.json`).map((path) => path.split("/")[1] ?? "");
    const listed = [...map.matchAll(/^ {2}([a-z-]+)\//gm)].map(([, name = ""]) => name);
    expect(new Set(listed)).toEqual(new Set([...folders("apps"), ...folders("packages")]));
    const tools = /^tooling\/\s+(.+)$/m.exec(map)?.[1]?.split(", ") ?? [];
    expect(new Set(tools)).toEqual(new Set(listFiles("tooling/*/README.md").map((path) => path.split("/")[1] ?? "")));
  });
});

describe("the repository speaks of no machine", () => {
  test("no document names an absolute path of somebody's machine, or a package registry's host", () => {
    const machine = /(?:^|[\s"'`(=:[])\/(?:root|work|home|tmp|Users)\//m;
    const found = documents.filter(({ text }) => machine.test(text) || /\bregistry\.[\w-]+\.\w+/.test(text));
    expect(found.map(({ path }) => path)).toEqual([]);
  });

  test("no source names a home folder or a checkout by its absolute path", () => {
    const sources = listFiles("{apps,packages,tooling}/*/{src,test,scripts}/**/*.{ts,mjs,json}");
    const machine = new RegExp(`["'\`\\s(=:]/(?:${["root", "work", "home", "Users"].join("|")})/`);
    expect(sources.filter((path) => machine.test(readText(path)))).toEqual([]);
  });
});
