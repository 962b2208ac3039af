import { isDatabaseAway } from "@toolctrl/db/client";
import { CodedError, describeError, errorCodeOf } from "@toolctrl/foundation/errors";
import { z } from "zod";

/** A table, a column, a function or a type is not there. */
const UNDEFINED = /^(?:42P01|42703|42883|42704)$/;
/** The server answers, and takes neither this login nor knows this database. */
const REFUSED = /^(?:28...|3D000)$/;
/** A rival's lock was in the way, or the server has no room: it answers, and says why. */
const TOLD = /^(?:40...|55P03|53100|53200)$/;
const READ_ONLY = "25006";

/** Where Prisma keeps the server's own error; its own message is a page long. */
const ofPrisma = z.object({
  meta: z.object({ driverAdapterError: z.object({ cause: z.object({ originalCode: z.string(), originalMessage: z.string() }) }) }),
});

/** The coded error of a database that is away, refuses the login or lacks the tables; null when it is something else. */
export function nameDatabaseError(error: unknown): CodedError | null {
  const { code, message } = ownErrorOf(error);
  const facts = { code };
  // A file of this program that is missing; of a socket it is the connecting that fails.
  if (code === "ENOENT" && !message.startsWith("connect ")) return null;
  if (UNDEFINED.test(code)) return new CodedError("DB.NOT_MIGRATED", `expected the tables of this version, got: ${message}`, { facts });
  if (code === READ_ONLY) return new CodedError("DB.READ_ONLY", `expected a database that takes writes, got: ${message}`, { facts });
  if (REFUSED.test(code) || (isDatabaseAway(error) && !TOLD.test(code)))
    return new CodedError("DB.UNREACHABLE", `expected the database to answer, got: ${message}`, { facts });
  return null;
}

function ownErrorOf(error: unknown): { code: string; message: string } {
  const prisma = ofPrisma.safeParse(error);
  if (prisma.success) {
    const { originalCode: code, originalMessage: message } = prisma.data.meta.driverAdapterError.cause;
    return { code, message };
  }
  // A name with several addresses fails with the errors of all of them, and says none.
  const told: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return { code: errorCodeOf(error), message: describeError(told, 300).replaceAll(/\s+/g, " ").trim() };
}
