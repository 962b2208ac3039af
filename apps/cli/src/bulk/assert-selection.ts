import { CodedError } from "@toolctrl/foundation/errors";
import type { OutboxStatus } from "@toolctrl/outbox-drainer/actions";
import { hasFilter, type FilterOptions } from "../options/filter-options.ts";

/**
 * Checks that a command was told what to act on in one way: ids, or a filter with the states it may touch.
 * @throws CodedError `CLI.ARGUMENT`
 */
export function assertSelection(ids: readonly string[], options: FilterOptions, allowed: readonly OutboxStatus[]): void {
  if (ids.length > 0 && hasFilter(options)) throw new CodedError("CLI.ARGUMENT", "expected ids or a filter, got both");
  if (ids.length > 0) return;
  if (options.status === undefined) {
    throw new CodedError(
      "CLI.ARGUMENT",
      `expected ids, or a filter with --status (${allowed.join(", ")}), got ${hasFilter(options) ? "a filter without --status" : "neither"}`,
    );
  }
  const wrong = options.status.filter((status) => !allowed.includes(status));
  if (wrong.length > 0) throw new CodedError("CLI.ARGUMENT", `expected --status to be of ${allowed.join(", ")}, got ${wrong.join(", ")}`);
}
