import type { Command } from "commander";
import type { Io } from "./io.ts";
import type { ExitCode } from "./exit-codes.ts";

/** What a command's handler gets beside its own arguments. */
export interface Invocation<Options> {
  readonly io: Io;
  readonly json: boolean;
  readonly options: Options;
  readonly args: readonly string[];
}

export type Handler<Options> = (invocation: Invocation<Options>) => Promise<ExitCode>;

/** Ties handlers to commands; the exit code of the one that ran is given to `onExit`. */
export interface Registrar {
  handle<Options>(command: Command, handler: Handler<Options>): void;
}

export function createRegistrar(io: Io, onExit: (code: ExitCode) => void): Registrar {
  return {
    handle(command, handler) {
      command.action(async () => {
        const options = command.optsWithGlobals<{ json?: boolean } & Parameters<typeof handler>[0]["options"]>();
        onExit(await handler({ io, json: options.json === true, options, args: command.args }));
      });
    },
  };
}
