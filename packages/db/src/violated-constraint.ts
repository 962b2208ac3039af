/**
 * The name of the constraint or unique index that a statement violated, or null when the error is no constraint violation.
 *
 * Works for errors of Prisma's models and raw queries over a driver adapter (where `meta.target` is absent and the name sits deep
 * inside), of `pg`, and for errors that wrap one of these as `cause`.
 */
export function violatedConstraint(error: unknown): string | null {
  for (let current = error, depth = 0; isRecord(current) && depth < 8; depth += 1) {
    const name = fromDriver(current) ?? fromAdapter(current) ?? fromPrisma(current);
    if (name !== null) return name;
    current = current["cause"];
  }
  return null;
}

// pg: SQLSTATE class 23 and the name as a field.
function fromDriver(error: Record<string, unknown>): string | null {
  const { code, constraint } = error;
  return typeof code === "string" && code.startsWith("23") && typeof constraint === "string" ? constraint : null;
}

// The adapter's form: a unique violation holds the index's name; a CHECK violation only a message.
function fromAdapter(error: Record<string, unknown>): string | null {
  const { kind, constraint, code, originalCode, message, originalMessage } = error;
  if (typeof kind !== "string") return null;
  if (isRecord(constraint) && typeof constraint["index"] === "string") return constraint["index"];
  const state = typeof originalCode === "string" ? originalCode : code;
  if (typeof state !== "string" || !state.startsWith("23")) return null;
  const text = typeof originalMessage === "string" ? originalMessage : String(message);
  return /constraint "([^"]+)"/.exec(text)?.[1] ?? null;
}

function fromPrisma(error: Record<string, unknown>): string | null {
  const { meta } = error;
  if (!isRecord(meta)) return null;
  return violatedConstraint(meta["driverAdapterError"]);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
