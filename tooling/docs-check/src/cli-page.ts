import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "./repository.ts";
import { tableOf } from "./table.ts";

/** A command of the CLI, as far as it says what it is. The library is the app's alone. */
export interface CliCommand {
  readonly commands: readonly CliCommand[];
  readonly options: readonly CliOption[];
  readonly registeredArguments: readonly CliArgument[];
  name(): string;
  description(): string;
  helpInformation(): string;
}

interface CliOption {
  readonly flags: string;
  readonly description: string;
  readonly defaultValue?: unknown;
  readonly defaultValueDescription?: string;
}

interface CliArgument {
  readonly description: string;
  readonly required: boolean;
  readonly variadic: boolean;
  name(): string;
}

/** The whole command line, as `apps/cli` composes it. */
export async function loadCli(): Promise<CliCommand> {
  const { createProgram } = (await import(pathToFileURL(join(ROOT, "apps/cli/src/program.ts")).href)) as {
    createProgram(io: object, onExit: () => void): CliCommand;
  };
  return createProgram({ out: process.stdout, err: process.stderr }, () => undefined);
}

/** `docs/reference/cli-commands.md`: every command with its arguments and options. */
export async function renderCliPage(): Promise<string> {
  const program = await loadCli();
  const sections = [
    "# Commands of toolctrl-cli",
    "Generated from the commands themselves; after a change there, `pnpm exec vitest run tooling/docs-check/test/pages.unit.test.ts -u` writes it again. What they do, print and end with is told in [CLI](cli.md).",
    `Every command takes these too:\n\n${optionsOf(program)}`,
    ...program.commands.flatMap((command) => sectionsOf(command, [])),
  ];
  return `${sections.join("\n\n")}\n`;
}

function sectionsOf(command: CliCommand, above: readonly string[]): string[] {
  const path = [...above, command.name()];
  if (command.commands.length > 0) return command.commands.flatMap((each) => sectionsOf(each, path));
  const usage = ["toolctrl-cli", ...path, ...command.registeredArguments.map(usageOf)].join(" ");
  const tables = [argumentsOf(command), optionsOf(command)].filter((part) => part !== "");
  return [`## ${path.join(" ")}`, `\`${usage}\`: ${command.description()}.`, ...tables];
}

function usageOf(argument: CliArgument): string {
  const name = `${argument.name()}${argument.variadic ? "…" : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

function argumentsOf({ registeredArguments }: CliCommand): string {
  if (registeredArguments.length === 0) return "";
  return tableOf(
    ["Argument", "Is"],
    registeredArguments.map((argument) => [`\`${usageOf(argument)}\``, argument.description]),
  );
}

function optionsOf({ options }: CliCommand): string {
  if (options.length === 0) return "";
  const defaultOf = ({ defaultValue, defaultValueDescription }: CliOption): string => {
    if (defaultValueDescription !== undefined) return defaultValueDescription;
    return defaultValue === undefined ? "" : `\`${JSON.stringify(defaultValue)}\``;
  };
  return tableOf(
    ["Option", "Does", "Default"],
    options.map((option) => [`\`${option.flags}\``, option.description, defaultOf(option)]),
  );
}
