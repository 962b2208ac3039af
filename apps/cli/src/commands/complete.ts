import type { Command as Described } from "@bomb.sh/tab";
import { Argument, type Command } from "commander";
import type { Registrar } from "../command.ts";
import { EXIT } from "../exit-codes.ts";

const SHELLS = ["bash", "zsh", "fish", "powershell"] as const;

const AFTER_HELP = `
Examples:
  source <(toolctrl-cli complete bash)
  toolctrl-cli complete fish > ~/.config/fish/completions/toolctrl-cli.fish

The script asks \`toolctrl-cli complete -- <words>\` for what fits; it needs no database.
`;

/** `complete <shell>`: the script that lets a shell complete commands and options. */
export function registerComplete(program: Command, registrar: Registrar): void {
  const command = program
    .command("complete")
    .description("the script with which a shell completes commands and options")
    .addArgument(new Argument("<shell>", "which shell").choices(SHELLS))
    .addHelpText("after", AFTER_HELP);
  registrar.handle(command, async ({ args }) => {
    // Loaded by those who ask for it; it writes to the output itself.
    const { script } = await import("@bomb.sh/tab");
    script(args[0] ?? "", program.name(), program.name());
    return EXIT.ok;
  });
}

/** Whether a command line is a shell's question for what fits its words. commander would take the words for its own. */
export function asksForCompletions(args: readonly string[]): boolean {
  return args[0] === "complete" && args[1] === "--";
}

/** Answers a shell: what the last of its words can be, one on a line. Writes to the output itself. */
export async function writeCompletions(program: Command, words: readonly string[]): Promise<void> {
  const { RootCommand } = await import("@bomb.sh/tab");
  const root = new RootCommand();
  describeOptions(root, program);
  for (const { path, command } of commandsUnder(program, "")) {
    const described = root.command(path, command.description());
    describeOptions(described, command);
    for (const argument of command.registeredArguments)
      described.argument(argument.name(), suggest(argument.argChoices), argument.variadic);
  }
  root.parse([...words]);
}

function* commandsUnder(parent: Command, prefix: string): Generator<{ readonly path: string; readonly command: Command }> {
  for (const command of parent.createHelp().visibleCommands(parent)) {
    const path = `${prefix}${command.name()}`;
    yield { path, command };
    yield* commandsUnder(command, `${path} `);
  }
}

/** The options of a command, and those of the whole program, which it takes too. */
function describeOptions(described: Described, command: Command): void {
  const help = command.createHelp();
  for (const option of [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)]) {
    const name = option.long?.slice(2);
    if (name === undefined) continue;
    const takesValue = option.required || option.optional;
    if (takesValue) described.option(name, option.description, suggest(option.argChoices));
    else described.option(name, option.description);
  }
}

function suggest(values: readonly string[] = []) {
  return (complete: (value: string, description: string) => void): void => {
    for (const value of values) complete(value, "");
  };
}
