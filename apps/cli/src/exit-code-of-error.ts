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
    case "QUEUE.MISMATCH":
    case "WORKFLOW.DEFINITION":
    case "WORKFLOW.ARGUMENT":
    case "WORKFLOW.INPUT_INVALID":
      return EXIT.usage;
    case "AUDIT.NO_CHAIN":
    case "DB.EVENT_NOT_FOUND":
    case "WORKFLOW.NOT_FOUND":
      return EXIT.notFound;
    case "DB.EVENT_STATE":
    case "WORKFLOW.STATE":
    case "WORKFLOW.NOT_LIVE":
    case "WORKFLOW.INPUT_ANSWERED":
    case "WORKFLOW.INPUT_EXPIRED":
      return EXIT.refused;
    default:
      return EXIT.failure;
  }
}
