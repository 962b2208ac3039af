import { confirm as ask, isCancel } from "@clack/prompts";
import { CodedError } from "@toolctrl/foundation/errors";
import type { Io } from "../io.ts";

/** Thrown when the operator answers no. */
export class Declined extends Error {
  constructor() {
    super("nothing was changed");
    this.name = "Declined";
  }
}

/**
 * Asks the operator, unless --yes was given. Where nobody can be asked, a `bulk` needs --yes; events named by their ids do not.
 * @throws Declined; CodedError `CLI.ARGUMENT` when nobody can be asked
 */
export async function confirm(io: Io, question: string, options: { yes: boolean; bulk: boolean }): Promise<void> {
  if (options.yes) return;
  if (!io.canAsk) {
    if (!options.bulk) return;
    throw new CodedError("CLI.ARGUMENT", "expected --yes (or --dry-run) where no terminal can be asked, got neither");
  }
  const answer = await ask({ message: question, initialValue: false, input: io.in, output: io.err });
  if (isCancel(answer) || !answer) throw new Declined();
}
