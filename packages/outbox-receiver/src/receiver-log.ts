import { errorCodeOf } from "@toolctrl/foundation/errors";

/** Where the receiver says what it survived. A pino logger fits. */
export interface ReceiverLog {
  warn(facts: Readonly<Record<string, unknown>>, message: string): void;
}

/** Without a logger a survived fault still shows, as a warning of the process. */
export const processWarnings: ReceiverLog = {
  warn(facts, message) {
    process.emitWarning(message, { type: "OutboxReceiverWarning", code: errorCodeOf(facts["err"]), detail: detailOf(facts) });
  },
};

function detailOf(facts: Readonly<Record<string, unknown>>): string {
  return Object.entries(facts)
    .map(([name, value]) => `${name}=${value instanceof Error ? value.message : String(value)}`)
    .join(" ");
}
