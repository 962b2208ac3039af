import { isCodedError } from "@toolctrl/foundation/errors";
import { QUEUES } from "@toolctrl/foundation/queues";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRouter, ROUTES, type RouteRule } from "../src/router.ts";

const route = createRouter();

function queueOf(eventType: string): string | null {
  const rule = route(eventType);
  return rule === null ? null : rule.target === "queue" ? rule.queue : "(database)";
}

function problemsOf(rules: unknown): string[] {
  try {
    createRouter(rules as RouteRule[]);
  } catch (error) {
    if (isCodedError(error) && error.code === "ROUTER.RULE") return error.facts["problems"] as string[];
    throw error;
  }
  return [];
}

describe("the product's routes", () => {
  test.each([
    ["tenant.subscription.renewed", "outbox.notification"],
    ["mail.message.send", "outbox.mail"],
    ["webhook.message.deliver", "outbox.webhook"],
    ["notification.message.create", "outbox.notification"],
    ["audit.entry.record", "outbox.audit"],
    ["workflow.trigger.event", "outbox.workflow"],
    ["workflow.execution.continue.requested", "outbox.workflow"],
    ["search.index.upsert", "outbox.search-index"],
    ["rag.index.upsert", "outbox.rag-index"],
    ["ai.cost.record", "outbox.ai-cost"],
    ["marketing.lead.created", "outbox.marketing"],
    ["form.submission.received", "outbox.form-submission-route"],
    ["billing.subscription.updated", "outbox.notification"],
    ["plugin.hook.workflow.executed", "outbox.plugin-hook"],
    ["plugin.capability-use.recorded", "outbox.plugin-capability-use"],
    ["record.lead.updated", "(database)"],
  ])("%s goes to %s", (eventType, queue) => {
    expect(queueOf(eventType)).toBe(queue);
  });

  test("there are the 14 prefixes to queues and the one to the database", () => {
    expect(ROUTES.filter(({ target }) => target === "queue")).toHaveLength(14);
    expect(ROUTES.filter(({ target }) => target === "database")).toHaveLength(1);
  });

  test.each([
    "",
    ".",
    "LEAD.x",
    "LEAD.lead.created",
    "leads.x",
    "leads.lead.created",
    "lead.x.y",
    "mail",
    "mail.",
    "mail.send",
    "mails.message.send",
    "mailbox.message.send",
    "mail-room.message.send",
    "MAIL.message.send",
    "xmail.message.send",
    "billings.a.b",
    "bill.a.b",
    "tenant.subscriptions.renewed",
    "tenant.user.created",
    "tenant.subscription",
    "search.indexes.upsert",
    "search.query.run",
    "plugin.hooks.a",
    "plugin.capability.use.recorded",
    "plugin.capability-used.x",
    "ai.costs.record",
    "marketing.leads.created",
    "form.submissions.x",
    "records.lead.updated",
    " mail.message.send",
    "mail.message.send\n",
    "mail..send",
    "constructor.prototype.x",
    "__proto__.a.b",
  ])("%j matches no rule by accident", (eventType) => {
    expect(route(eventType)).toBeNull();
  });
});

describe("matching", () => {
  const segment = fc.constantFrom("a", "b", "ab", "a-b", "c");
  const path = (minLength: number, maxLength: number) => fc.array(segment, { minLength, maxLength }).map((parts) => parts.join("."));
  const rules = fc
    .uniqueArray(path(1, 4), { minLength: 1, maxLength: 12 })
    .map((prefixes) => prefixes.map((prefix): RouteRule => ({ prefix: `${prefix}.`, target: "database", consumers: [] })));

  /** The definition, segment by segment, without string prefixes. */
  function longestMatch(all: readonly RouteRule[], eventType: string): RouteRule | null {
    const segments = eventType.split(".");
    for (let length = segments.length - 1; length > 0; length -= 1) {
      const found = all.find(({ prefix }) => prefix.slice(0, -1).split(".").join() === segments.slice(0, length).join());
      if (found !== undefined) return found;
    }
    return null;
  }

  test("the longest prefix of whole segments wins, whatever the order of the rules", () => {
    fc.assert(
      fc.property(rules, path(3, 6), fc.array(fc.nat()), (all, eventType, keys) => {
        const shuffled = all
          .map((rule, index) => ({ rule, key: keys[index] ?? 0 }))
          .sort((x, y) => x.key - y.key)
          .map(({ rule }) => rule);
        expect(createRouter(shuffled)(eventType)).toBe(longestMatch(all, eventType));
      }),
      { numRuns: 2000 },
    );
  });

  test("no text whatever breaks the router or matches without beginning with a prefix", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: "binary" }),
          fc.tuple(fc.constantFrom(...ROUTES.map(({ prefix }) => prefix)), fc.string()).map(([prefix, rest]) => prefix + rest),
        ),
        (eventType) => {
          const rule = route(eventType);
          return rule === null || eventType.startsWith(rule.prefix);
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe("bad rules stop the boot", () => {
  test("a queue name with a colon is refused, naming the entry", () => {
    const problems = problemsOf([...ROUTES, { prefix: "crm.lead.", target: "queue", queue: "crm:lead", consumers: ["x"] }]);
    expect(problems).toEqual([expect.stringMatching(/"crm\.lead\.".*without a colon.*"crm:lead"/)]);
  });

  test("all of them are named at once", () => {
    const problems = problemsOf([
      { prefix: "mail", target: "queue", queue: "outbox.mail", consumers: ["x"] },
      { prefix: "", target: "queue", queue: "outbox.mail", consumers: ["x"] },
      { prefix: "Lead.", target: "queue", queue: "outbox.mail", consumers: ["x"] },
      { prefix: "a..b.", target: "queue", queue: "outbox.mail", consumers: ["x"] },
      { prefix: "crm.lead.", target: "queue", queue: "crm:lead", consumers: ["x"] },
      { prefix: "crm.deal.", target: "queue", queue: "outbox.unknown", consumers: ["x"] },
      { prefix: "crm.note.", target: "queue", queue: "toString", consumers: ["x"] },
      { prefix: "crm.task.", target: "queue", queue: "outbox.mail", consumers: [] },
      { prefix: "twice.", target: "database", consumers: [] },
      { prefix: "twice.", target: "database", consumers: [] },
    ]);
    expect(problems.map((line) => line.split(": ")[0])).toEqual([
      '"mail"',
      '""',
      '"Lead."',
      '"a..b."',
      '"crm.lead."',
      '"crm.deal."',
      '"crm.note."',
      '"crm.task."',
      '"twice."',
    ]);
  });

  test("every queue of the product's routes exists, and the product's rules are valid", () => {
    expect(problemsOf(ROUTES)).toEqual([]);
    for (const rule of ROUTES) expect(rule.target === "database" || Object.hasOwn(QUEUES, rule.queue), rule.prefix).toBe(true);
  });
});
