import { describeError, errorCodeOf, isCodedError } from "@toolctrl/foundation/errors";
import type { Io } from "../io.ts";
import { nameDatabaseError } from "./name-database-error.ts";

/** Tells what went wrong and what to do: for people on the error output, with --json also as the one document of the output. */
export function writeError(io: Io, json: boolean, error: unknown): void {
  const coded = isCodedError(error) ? error : nameDatabaseError(error);
  const message = describeError(coded ?? error);
  const code = coded?.code ?? errorCodeOf(error);
  if (json) {
    const document = { error: { code, message, fix: coded?.fix ?? null, facts: coded?.facts ?? {} } };
    io.out.write(`${JSON.stringify(document, null, 2)}\n`);
  }
  io.err.write(`error ${code}: ${message}\n`);
  if (coded !== null) io.err.write(`next: ${coded.fix}\n`);
}
