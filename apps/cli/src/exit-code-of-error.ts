import { isCodedError } from "@toolctrl/foundation/errors";
import { CommanderError } from "commander";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { Declined } from "./output/confirm.ts";

/** What a thrown error means to a script. */
export function exitCodeOfError(error: unknown): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (error instanceof Declined) return EXIT.refused;
  if (!isCodedError(error)) return EXIT.failure;
  switch (error.code) {
    case "CLI.ARGUMENT":
    case "ENV.INVALID":
      return EXIT.usage;
    case "DB.EVENT_NOT_FOUND":
      return EXIT.notFound;
    case "DB.EVENT_STATE":
      return EXIT.refused;
    default:
      return EXIT.failure;
  }
}
