import { EXIT, type ExitCode } from "../exit-codes.ts";
import type { BulkReport } from "./run-bulk.ts";

/** A bulk is partly done when some of what it matched was refused, when it was interrupted, or when the default limit cut it off. */
export function exitCodeOfBulk(report: BulkReport, limitWasGiven: boolean): ExitCode {
  if (report.changed === 0 && report.refused > 0) return EXIT.refused;
  const cutOff = report.more && !limitWasGiven;
  return report.refused > 0 || report.interrupted || cutOff ? EXIT.partial : EXIT.ok;
}
