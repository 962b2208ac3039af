import { z } from "zod";

/** What the documentation and the error messages say of one variable. */
export interface EnvFieldMeta {
  readonly description: string;
  /** What a value may look like. */
  readonly accepts: string;
  /** The default as one would type it; absent when there is none. */
  readonly fallback?: string;
  /** Whether a wrong value may be printed. Never set for what may hold a password. */
  readonly printable: boolean;
}

type Common = { about: string };

function integerSchema(min: number, max: number) {
  return z
    .string()
    .regex(/^(?:0|[1-9]\d{0,15})$/, { error: "expected a whole number in decimal digits" })
    .transform(Number)
    .refine((value) => value >= min && value <= max, { error: `expected a whole number from ${min} to ${max}` });
}

/** A whole number in decimal digits, within bounds; anything else is a problem. */
export function integer(options: Common & { min: number; max: number; fallback: number }) {
  const meta = {
    description: options.about,
    accepts: `${options.min} to ${options.max}`,
    fallback: String(options.fallback),
    printable: true,
  };
  return integerSchema(options.min, options.max)
    .default(options.fallback)
    .meta({ ...meta });
}

/** A whole number that is brought into the bounds instead of refused. */
export function clampedInteger(options: Common & { min: number; max: number; fallback: number }) {
  const meta = {
    description: options.about,
    accepts: `clamped to ${options.min} to ${options.max}`,
    fallback: String(options.fallback),
    printable: true,
  };
  return integerSchema(0, Number.MAX_SAFE_INTEGER)
    .transform((value) => Math.min(options.max, Math.max(options.min, value)))
    .default(options.fallback)
    .meta({ ...meta });
}

/** `true`, `1`, `yes`, `on` or `false`, `0`, `no`, `off`. */
export function flag(options: Common & { fallback: boolean }) {
  const meta = { description: options.about, accepts: "true or false", fallback: String(options.fallback), printable: true };
  return z
    .stringbool({ error: "expected true or false" })
    .default(options.fallback)
    .meta({ ...meta });
}

/** One of a few words. */
export function choice<const Values extends readonly [string, ...string[]]>(
  options: Common & { values: Values; fallback: Values[number] },
) {
  const accepts = options.values.join(", ");
  const meta = { description: options.about, accepts, fallback: options.fallback, printable: true };
  const schema: z.ZodType<Values[number], string> = z.enum(options.values, { error: `expected one of ${accepts}` });
  return z.preprocess((value) => (value === undefined ? options.fallback : value), schema).meta({ ...meta });
}

/** One of a few words, or unset (an empty value counts as unset: Compose writes `${VAR:-}` that way). */
export function optionalChoice<const Values extends readonly [string, ...string[]]>(options: Common & { values: Values }) {
  const accepts = options.values.join(", ");
  const schema: z.ZodType<Values[number], string> = z.enum(options.values, { error: `expected one of ${accepts}` });
  return z.preprocess(emptyAsUnset, schema.optional()).meta({ description: options.about, accepts, printable: true });
}

function urlSchema(protocols: readonly string[]) {
  const error = `expected a URL that begins with ${protocols.map((name) => `${name}//`).join(" or ")}`;
  return z.string({ error: "expected a value, got none" }).refine((value) => hasProtocol(value, protocols), { error });
}

/** A URL of one of the protocols (`postgres:` …). Its value is never printed: it may hold a password. */
export function url(options: Common & { protocols: readonly string[] }) {
  const accepts = options.protocols.map((name) => `${name}//…`).join(" or ");
  return urlSchema(options.protocols).meta({ description: options.about, accepts, printable: false });
}

/** The same, or unset. */
export function optionalUrl(options: Common & { protocols: readonly string[] }) {
  const accepts = options.protocols.map((name) => `${name}//…`).join(" or ");
  return z
    .preprocess(emptyAsUnset, urlSchema(options.protocols).optional())
    .meta({ description: options.about, accepts, printable: false });
}

/** A text that fits a pattern. */
export function text(options: Common & { pattern: RegExp; accepts: string; fallback?: string; printable?: boolean }) {
  const schema = z.string({ error: "expected a value, got none" }).regex(options.pattern, { error: `expected ${options.accepts}` });
  const { fallback } = options;
  const meta = {
    description: options.about,
    accepts: options.accepts,
    printable: options.printable ?? true,
    ...(fallback === undefined ? {} : { fallback }),
  };
  return z.preprocess((value) => (value === undefined ? fallback : value), schema).meta({ ...meta });
}

/** A text that fits a pattern, or unset. */
export function optionalText(options: Common & { pattern: RegExp; accepts: string; printable?: boolean }) {
  const schema = z.string().regex(options.pattern, { error: `expected ${options.accepts}` });
  return z
    .preprocess(emptyAsUnset, schema.optional())
    .meta({ description: options.about, accepts: options.accepts, printable: options.printable ?? false });
}

function emptyAsUnset(value: unknown): unknown {
  return value === "" ? undefined : value;
}

function hasProtocol(value: string, protocols: readonly string[]): boolean {
  return URL.canParse(value) && protocols.includes(new URL(value).protocol) && new URL(value).hostname !== "";
}

/** What a field says of itself; a field written in plain zod has its description at most. */
export function metaOf(field: z.ZodType): EnvFieldMeta {
  const meta = field.meta() ?? {};
  const { accepts, fallback } = meta;
  const own = {
    description: meta.description ?? "",
    accepts: typeof accepts === "string" ? accepts : "",
    printable: meta["printable"] === true,
  };
  return typeof fallback === "string" ? { ...own, fallback } : own;
}
