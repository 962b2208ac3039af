import { describeEnv, type EnvVariable } from "@toolctrl/runtime/env";
import type { Compose } from "./compose/read-compose.ts";
import { variablesOf, type Variable } from "./compose/variables.ts";
import type { Program } from "./programs.ts";

/** Where there is something to show that is no secret. */
const EXAMPLES: Readonly<Record<string, string>> = {
  DATABASE_URL: "postgres://toolctrl:password@postgres.example.com:5432/toolctrl",
  REDIS_URL: "rediss://default:password@redis.example.com:6379",
  SMTP_URL: "smtp://user:password@mail.example.com:587",
  MAIL_FROM: "noreply@example.com",
};

/** What the compose files use and no program reads. */
const OF_COMPOSE: Readonly<Record<string, string>> = {
  POSTGRES_PASSWORD: "Of the PostgreSQL that docker-compose.yml starts: letters and digits (openssl rand -hex 24)",
  IMAGE_TAG: "Tag of the image that docker-compose.yml builds",
  PUBLISH_WEB_AT: "Address and port of the host at which docker-compose.yml publishes web",
};

const HEAD = `# Written from the schemas of the apps and from the compose files; after a change there, \`pnpm exec vitest run tooling/deploy-check -u\` writes it again.
#
# Copy it to .env beside docker-compose.yml and fill in what has no "#" in front. The others show their default; docs/reference/env.md
# says more. Never commit .env.`;

interface Listed extends EnvVariable {
  readonly use: "needed" | "open" | "fixed";
}

/** The text of `.env.example`: the variables that somebody has to give, then all others, each once. */
export function renderEnvExample(programs: readonly Program[], files: { readonly plain: Compose; readonly coolify: Compose }): string {
  const plain = referencesOf(files.plain);
  const listed = variablesOfPrograms(programs).map((variable) => ({ ...variable, use: useOf(plain.get(variable.name)) }) satisfies Listed);
  const own = [...plain.values()].filter(({ name }) => OF_COMPOSE[name] !== undefined);
  const needed = listed.filter(({ use }) => use === "needed");
  const sections = [
    HEAD,
    [...own.filter(({ kind }) => kind === "required").map(entryOfCompose), ...needed.map(entryOf)].join("\n\n"),
    "# --- With a default",
    [...own.filter(({ kind }) => kind !== "required").map(entryOfCompose), ...listed.filter(({ use }) => use === "open").map(entryOf)].join(
      "\n\n",
    ),
    "# --- Set by docker-compose.yml itself; for programs that are started another way",
    listed
      .filter(({ use }) => use === "fixed")
      .map(entryOf)
      .join("\n\n"),
  ];
  return `${sections.join("\n\n")}\n`;
}

/** Every variable that a program of the image reads, each once. */
export function variablesOfPrograms(programs: readonly Program[]): EnvVariable[] {
  // The workers' defaults count; the CLI's are for its terminal.
  const ordered = programs.toSorted((a, b) => Number(a.service === "migrate") - Number(b.service === "migrate"));
  const found = new Map<string, EnvVariable>();
  for (const entry of ordered.flatMap(({ shape }) => describeEnv(shape))) if (!found.has(entry.name)) found.set(entry.name, entry);
  return [...found.values()];
}

/** Every variable that a compose file refers to, by name. */
export function referencesOf({ services }: Compose): Map<string, Variable> {
  const texts = Object.values(services).flatMap(({ environment = {}, image = "", ports = [] }) => [
    ...Object.values(environment),
    image,
    ...ports,
  ]);
  return new Map(texts.flatMap((text) => variablesOf(text ?? "")).map((variable) => [variable.name, variable]));
}

function useOf(reference: Variable | undefined): Listed["use"] {
  if (reference === undefined) return "fixed";
  return reference.kind === "required" ? "needed" : "open";
}

function entryOf({ name, use, fallback, accepts, about }: Listed): string {
  const value = EXAMPLES[name] ?? fallback ?? "";
  return `# ${about} (${accepts})\n${use === "needed" ? "" : "# "}${name}=${value}`;
}

function entryOfCompose({ name, kind, text }: Variable): string {
  return `# ${OF_COMPOSE[name] ?? ""}\n${kind === "required" ? `${name}=` : `# ${name}=${text}`}`;
}

/** The values of an `.env` file, and the names that it only shows. */
export function readEnvExample(text: string): { readonly values: Record<string, string>; readonly names: readonly string[] } {
  const entries = [...text.matchAll(/^(# )?([A-Z][A-Z0-9_]*)=(.*)$/gm)].map(([, shown, name = "", value = ""]) => ({ shown, name, value }));
  const given = entries.filter(({ shown }) => shown === undefined);
  return { values: Object.fromEntries(given.map(({ name, value }) => [name, value])), names: entries.map(({ name }) => name) };
}
