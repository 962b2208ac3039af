import { databaseEnv, describeEnv, outboundEnv, outboxEnv, processEnv, queueEnv, receiverEnv, renderEnvTable } from "@toolctrl/runtime/env";
import type { z } from "zod";
import { listProgramEnvs, type ProgramEnv } from "./env-schemas.ts";

/** The shapes that several apps spread into theirs. */
const SHARED: ReadonlyArray<{ readonly title: string; readonly shape: z.ZodRawShape }> = [
  { title: "Every process", shape: processEnv },
  { title: "The database", shape: databaseEnv },
  { title: "The queue", shape: queueEnv },
  { title: "The drainer", shape: outboxEnv },
  { title: "Consumers", shape: receiverEnv },
  { title: "Outbound HTTP", shape: outboundEnv },
];

/** What the tables cannot say, by source. */
const NOTES: Readonly<Record<string, string>> = {
  "apps/cli/src/env.ts":
    "Only `doctor`, `outbox stats`, `outbox trace`, `outbox probe`, `outbox reconcile` and `outbox gate` look into the queue; give them the values the workers have. Of the workers' settings `doctor` and `outbox gate` read those that make up the retry horizon, and `doctor` the age at which events are deleted, with the same defaults: where the workers have others, they need them too. The other commands need the database alone.",
  "apps/worker-mail/src/env.ts":
    "This app never drains. Of the drainer's settings it uses those that make up the retry horizon, and registers its vote.",
  "tooling/dev-stack/src/env.ts": "The workers inherit everything else, `OUTBOX_DISPATCH_BATCH_SIZE` for example.",
};

const TESTS = `## Tests

\`npm test\` starts servers of its own; these name others.

| Variable | Default | Accepts | Purpose |
| --- | --- | --- | --- |
| \`TEST_DATABASE_URL\` | unset | postgres://… | A PostgreSQL server whose user may create databases |
| \`TEST_REDIS_URL\` | unset | redis://… | A Redis server; tests keep to prefixes of their own |
| \`WORKFLOW_TRIGGER_E2E_DATABASE_URL\` | that of \`OUTBOX_E2E_DATABASE_URL\`, else of a \`DATABASE_URL\` that is no stub | postgres://… | A migrated PostgreSQL database that nobody drains, for \`apps/worker-general/src/jobs/workflow-trigger-e2e.test.ts\`, which leaves it as it was |`;

/** `docs/reference/env.md`: what every program reads from its environment. */
export async function renderEnvPage(): Promise<string> {
  const programs = await listProgramEnvs();
  const sections = [
    "# Environment",
    "Generated from the schemas of the apps and of `@toolctrl/runtime/env`; after a change there, `pnpm exec vitest run tooling/docs-check/test/pages.unit.test.ts -u` writes it again.",
    "A wrong value stops the process at its start, with every problem in one message; it is never replaced by the default.",
    "An empty value of a variable whose default is *unset* counts as unset.",
    "Variables that several programs share come first; what each program reads is in its own section below them.",
    ...SHARED.map(({ title, shape }) => `## ${title}\n\n${renderEnvTable(describeEnv(shape))}`),
    ...programs.map(programSection),
    TESTS,
  ];
  return `${sections.join("\n\n")}\n`;
}

function programSection({ program, source, shape }: ProgramEnv): string {
  const shared = SHARED.map(({ title, shape: part }) => {
    const names = Object.keys(part).filter((name) => shape[name] === part[name]);
    return { title, names, all: names.length === Object.keys(part).length };
  });
  const lines = shared.flatMap(({ title, names, all }) => {
    if (names.length === 0) return [];
    const link = `[${title}](#${title.toLowerCase().replaceAll(" ", "-")})`;
    return [all ? `- all of ${link}` : `- of ${link}: ${names.map((name) => `\`${name}\``).join(", ")}`];
  });
  const taken = new Set(shared.flatMap(({ names }) => names));
  const own = Object.fromEntries(Object.entries(shape).filter(([name]) => !taken.has(name))) as z.ZodRawShape;
  const table = Object.keys(own).length === 0 ? "" : renderEnvTable(describeEnv(own));
  return [`## ${program}`, `Read by \`${source}\`:`, lines.join("\n"), NOTES[source] ?? "", table]
    .filter((part) => part !== "")
    .join("\n\n");
}
