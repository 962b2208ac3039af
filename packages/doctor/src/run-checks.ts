import { describeError } from "@toolctrl/foundation/errors";
import { withDeadline } from "@toolctrl/runtime/deadline";
import { unknown, type Check, type CheckResult, type Finding } from "./check.ts";

const CHECK_MS = 8_000;

/** Asks every check, all at the same time, each within `ms`. Never rejects: a check that cannot be asked is unknown, with why. */
export function runChecks(checks: readonly Check[], ms: number = CHECK_MS): Promise<CheckResult[]> {
  return Promise.all(checks.map(async (check) => ({ name: check.name, ...(await findingOf(check, ms)) })));
}

async function findingOf(check: Check, ms: number): Promise<Finding> {
  try {
    return await withDeadline(check.look(), ms, () => new Error(`expected an answer within ${ms} ms, got none`));
  } catch (error) {
    return unknown(`could not be asked: ${describeError(error, 300)}`, "mend what is said here or by the other checks, then ask again");
  }
}
