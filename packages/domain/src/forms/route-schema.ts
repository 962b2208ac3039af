import { z } from "zod";

const MAX_RULES = 20;
const MAX_ACTIONS = 5;
const MAX_CONDITIONS = 20;

export type Operand = string | number | boolean;
const operand: z.ZodType<Operand> = z.union([z.string().min(1).max(1_000), z.number(), z.boolean()]);

/** One test of one field, or several that all or any of must hold. Texts are compared without regard to case and outer spaces. */
export interface RouteCondition {
  readonly field?: string | undefined;
  readonly equals?: Operand | undefined;
  /** Texts alone. */
  readonly contains?: string | undefined;
  readonly oneOf?: readonly Operand[] | undefined;
  /** Whether something was given. */
  readonly exists?: boolean | undefined;
  readonly all?: readonly RouteCondition[] | undefined;
  readonly any?: readonly RouteCondition[] | undefined;
}

export const TESTS = ["equals", "contains", "oneOf", "exists"] as const;
export const GROUPS = ["all", "any"] as const;

const condition: z.ZodType<RouteCondition> = z.lazy(() =>
  z
    .strictObject({
      field: z.string().optional(),
      equals: operand.optional(),
      contains: z.string().min(1).max(1_000).optional(),
      oneOf: z.array(operand).min(1).max(100).optional(),
      exists: z.boolean().optional(),
      all: z.array(condition).min(1).max(MAX_CONDITIONS).optional(),
      any: z.array(condition).min(1).max(MAX_CONDITIONS).optional(),
    })
    .refine(isOneThing, { error: `expected a field with one of ${TESTS.join(", ")}, or one of ${GROUPS.join(", ")}` }),
);

function isOneThing(given: RouteCondition): boolean {
  const tests = TESTS.filter((test) => given[test] !== undefined).length;
  const groups = GROUPS.filter((group) => given[group] !== undefined).length;
  return given.field === undefined ? tests === 0 && groups === 1 : tests === 1 && groups === 0;
}

const address = z.string().min(3).max(320);
const ofField = z.strictObject({ field: z.string() });

/** A lead: name, email and company name from the named fields. One is enough. */
const leadAction = z
  .strictObject({ type: z.literal("lead"), name: z.string().optional(), email: z.string().optional(), companyName: z.string().optional() })
  .refine(({ name, email, companyName }) => (name ?? email ?? companyName) !== undefined, {
    error: "expected a field for at least one of name, email, companyName",
  });

/** A mail. The templates are Liquid and see `data`, `form`, `submission` and `leadId`. */
const mailAction = z
  .strictObject({
    type: z.literal("mail"),
    to: z.union([address, z.array(address).min(1).max(10), ofField]),
    replyTo: z.union([address, ofField]).optional(),
    subject: z.string().min(1).max(1_000),
    text: z.string().max(100_000).optional(),
    html: z.string().max(100_000).optional(),
  })
  .refine((mail) => mail.text !== undefined || mail.html !== undefined, {
    error: "expected a text or an html template, got neither",
    path: ["text"],
  });

/** An event for the tenant's webhook endpoints, which subscribe by its type. */
const webhookAction = z.strictObject({ type: z.literal("webhook"), event: z.string().default("webhook.form.submitted") });

/** An in-app notification; title and body are Liquid. `recipientId` null is everybody of the tenant. */
const notificationAction = z.strictObject({
  type: z.literal("notification"),
  recipientId: z.string().min(1).max(200).nullable(),
  title: z.string().min(1).max(500),
  body: z.string().max(20_000).default(""),
});

const actionSchema = z.discriminatedUnion("type", [leadAction, mailAction, webhookAction, notificationAction]);
export type RouteAction = z.output<typeof actionSchema>;

const ruleSchema = z.strictObject({
  /** Part of what makes the events of a submission the same on every try: a new name is a new rule. */
  id: z
    .string()
    .regex(/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/, { error: "expected lowercase words joined by hyphens" })
    .max(64),
  /** Without one the rule always applies. */
  when: condition.optional(),
  actions: z.array(actionSchema).min(1).max(MAX_ACTIONS),
  /** Whether the rules after this one are left out where it applies. */
  stop: z.boolean().default(false),
});

export const routesSchema = z.array(ruleSchema).max(MAX_RULES);

/** A routing rule as a form keeps it; what was left out is filled in. */
export type RouteRule = z.output<typeof ruleSchema>;
/** A routing rule as it is given. */
export type RouteRuleInput = z.input<typeof ruleSchema>;
