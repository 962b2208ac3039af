import { describeError, isCodedError } from "@toolctrl/foundation/errors";
import type { Io } from "../io.ts";

/** Tells what went wrong and what to do: for people on the error output, with --json also as the one document of the output. */
export function writeError(io: Io, json: boolean, error: unknown): void {
  const message = describeError(error);
  const coded = isCodedError(error) ? error : null;
  const code = coded?.code ?? codeOf(error);
  if (json) {
    const document = { error: { code, message, fix: coded?.fix ?? null, facts: coded?.facts ?? {} } };
    io.out.write(`${JSON.stringify(document, null, 2)}\n`);
  }
  io.err.write(`error ${code}: ${message}\n`);
  if (coded !== null) io.err.write(`next: ${coded.fix}\n`);
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : error instanceof Error ? error.name : "Error";
}
