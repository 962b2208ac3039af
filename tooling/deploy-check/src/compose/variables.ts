/** A reference of a compose file: `${NAME}`, `${NAME:-fallback}` or `${NAME:?message}`. */
export interface Variable {
  readonly name: string;
  readonly kind: "plain" | "fallback" | "required";
  /** The fallback, or the message. */
  readonly text: string;
}

const REFERENCE = /\$\{([A-Za-z_]\w*)(?:(:-|:\?)([^{}]*))?\}/g;

/** The references of a value, in order. */
export function variablesOf(value: string): Variable[] {
  return [...value.matchAll(REFERENCE)].map(([, name = "", operator, text = ""]) => ({
    name,
    kind: operator === ":-" ? "fallback" : operator === ":?" ? "required" : "plain",
    text,
  }));
}

/**
 * The value as Compose hands it over; an empty variable counts as unset, as `:-` and `:?` have it.
 * @throws Error for a required one that is missing
 */
export function interpolate(value: string, source: Readonly<Record<string, string | undefined>>): string {
  return value.replaceAll(REFERENCE, (reference) => {
    const [variable] = variablesOf(reference);
    if (variable === undefined) return reference;
    const found = source[variable.name] ?? "";
    if (found !== "") return found;
    if (variable.kind === "required") throw new Error(`${variable.name}: ${variable.text || "expected a value"}, got none`);
    return variable.kind === "fallback" ? variable.text : "";
  });
}
