import { CodedError } from "@toolctrl/foundation/errors";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { notFound } from "../event-id.ts";

interface Outcome {
  readonly id: string;
  readonly outcome: string;
  readonly why?: string;
}

/**
 * The exit code of an action on events named by their ids: 0 when every one was changed, 5 when some were.
 * @throws CodedError when none was: `DB.EVENT_NOT_FOUND` when none exists, else `DB.EVENT_STATE`
 */
export function assertChanged(events: readonly Outcome[]): ExitCode {
  const refused = events.filter((event) => event.outcome === "refused");
  const missing = events.filter((event) => event.outcome === "not-found");
  if (refused.length + missing.length < events.length) return refused.length + missing.length === 0 ? EXIT.ok : EXIT.partial;
  const [first] = refused;
  if (first === undefined) {
    if (missing.length === 1) throw notFound(missing[0]?.id ?? "");
    const ids = missing.map((event) => event.id);
    throw new CodedError("DB.EVENT_NOT_FOUND", `expected events with these ids, got none of them: ${ids.slice(0, 10).join(", ")}`, {
      facts: { ids },
    });
  }
  const more = refused.length > 1 ? ` (and ${refused.length - 1} more)` : "";
  throw new CodedError("DB.EVENT_STATE", `event ${first.id}: ${first.why ?? "refused"}${more}`, { facts: { events } });
}
