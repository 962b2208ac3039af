import { CONSUMER_MAP, QUEUES_WITHOUT_EVENTS, type ConsumerMapEntry, type EffectKind, type Protection } from "@toolctrl/consumer-map/map";
import { tableOf } from "./table.ts";

const EFFECTS: Readonly<Record<EffectKind, string>> = {
  database: "rows of the product's own database, and nothing outside of it",
  mail: "a mail that leaves by SMTP; a mail is told from another by its `Message-ID`",
  webhook: "a signed HTTP request to an endpoint of the tenant's; a request is told from another by its `webhook-id`",
  connector: "a call of a plugin: its function, or a signed HTTP request; told apart like a webhook",
  provider: "a call of a provider that the product itself has chosen, under a key that the provider remembers",
  steps:
    "what the steps of a run do: rows and events of the product's own database, and HTTP requests to whom the tenant names, told apart by their `Idempotency-Key`",
};

const PROTECTIONS: Readonly<Record<Protection, string>> = {
  "transactional-receipt":
    "The receipt is the first row of the effect's own transaction. A second delivery waits for that row, finds it, and writes nothing; both commit, or neither does.",
  "idempotency-claim":
    "One delivery at a time holds the claim, and none runs after a receipt. An intent row says before the call that it is begun: a crash in between leaves it to be seen, and the repeat carries the same id.",
  "natural-key": "What is written has a key that follows from the event: the second insert finds the first and adds nothing.",
  "deterministic-set":
    "What is written follows from the event and is set, not added, and a younger position keeps an older one out: the second run leaves what the first one left.",
  "provider-key": "The other side is given a key that follows from the event, and does a thing once for a key.",
  "recorded-steps":
    "A start commits with its receipt, one run for each workflow and event. Of a run each step commits with its effect, under the run's lock: a second delivery goes on behind the last one that is recorded. A request is recorded before it is made; a repeat carries the same key, and is counted.",
};

/** `docs/reference/consumer-map.md`: what `@toolctrl/consumer-map` holds. Whether it is proven is not said here: that is a run's to say. */
export function renderConsumerMapPage(): string {
  const entries = Object.entries(CONSUMER_MAP);
  return `${[
    "# The consumer map",
    "Generated from `packages/consumer-map/src/map.ts`; after a change there, `pnpm exec vitest run tooling/docs-check/test/pages.unit.test.ts -u` writes it again.",
    "Every consumer: what it does to the world, what keeps a second delivery from doing that again, and the tests that show it. `pnpm consumer-map` says whether they do: on these sources, all passed, none skipped. What each of them does after a crash, a flush of Redis or a replay is told in the [audit](../outbox-idempotency-audit.md).",
    tableOf(
      ["Consumer", "Reads", "Events", "Does", "Scope"],
      entries.map(([name, entry]) => placeRow(name, entry)),
    ),
    "## What protects it",
    tableOf(
      ["Consumer", "Effect", "Protection", "Evidence"],
      entries.map(([name, entry]) => proofRow(name, entry)),
    ),
    "What the evidence is, test by test:",
    testsOf(entries.map(([, entry]) => entry)),
    "The effects:",
    listOf(EFFECTS),
    "The protections. Most consumers have more than one at work; named is the one that is enough by itself:",
    listOf(PROTECTIONS),
    "## Queues without events",
    tableOf(
      ["Queue", "Does", "A second run"],
      Object.entries(QUEUES_WITHOUT_EVENTS).map(([queue, { does, reason }]) => [`\`${queue}\``, does, reason]),
    ),
  ].join("\n\n")}\n`;
}

function placeRow(name: string, { queue, prefixes, does, scope }: ConsumerMapEntry): string[] {
  const reads = queue === "database" ? "none: an after-save effect" : `\`${queue}\``;
  const inScope = scope.in ? "in" : `out since ${scope.since}: ${scope.reason}`;
  return [`\`${name}\``, reads, prefixes.map((prefix) => `\`${prefix}\``).join(", "), does, inScope];
}

function proofRow(name: string, { effect, protection, source, evidence }: ConsumerMapEntry): string[] {
  return [`[\`${name}\`](../../${source})`, effect, protection, `[${evidence.suite}](../../${evidence.file})`];
}

/** The tests, each once, with how many consumers are put through them. */
function testsOf(entries: readonly ConsumerMapEntry[]): string {
  const all = entries.flatMap(({ evidence }) => evidence.tests);
  const counted = [...new Set(all)].map((test) => [test, all.filter((each) => each === test).length] as const);
  return counted.map(([test, consumers]) => `- ${test} (${consumers} consumers)`).join("\n");
}

function listOf(meanings: Readonly<Record<string, string>>): string {
  return Object.entries(meanings)
    .map(([word, meaning]) => `- **${word}**: ${meaning}`)
    .join("\n");
}
