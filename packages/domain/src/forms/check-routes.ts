import { assertNever, isCodedError } from "@toolctrl/foundation/errors";
import { isEventType } from "@toolctrl/foundation/event-type";
import type { SchemaProblem } from "@toolctrl/foundation/schema-problems";
import { parseAddress } from "../emails/parse-address.ts";
import { checkTemplate } from "../emails/render-template.ts";
import type { FieldKind, FormField } from "./field-schema.ts";
import { GROUPS, type Operand, type RouteAction, type RouteCondition, type RouteRule } from "./route-schema.ts";
import { textKey } from "./text-key.ts";

const TEXT_KINDS: readonly FieldKind[] = ["text", "email", "choice"];
/** What a template can see at its top level. */
const TEMPLATE_NAMES: ReadonlySet<string> = new Set(["data", "form", "submission", "leadId"]);

/** What is wrong with rules that have the right shape: what they say of the form's fields, addresses, templates, event types. */
export function checkRoutes(routes: readonly RouteRule[], fields: readonly FormField[]): SchemaProblem[] {
  const byName = new Map(fields.map((field) => [field.name, field]));
  return routes.flatMap((rule, index) => {
    const path = `routes.${index}`;
    const first = routes.findIndex(({ id }) => id === rule.id);
    return [
      ...(first === index ? [] : [{ path: `${path}.id`, message: `expected each id once, got that of routes.${first} again` }]),
      ...(rule.when === undefined ? [] : checkCondition(rule.when, `${path}.when`, byName)),
      ...rule.actions.flatMap((action, place) => checkAction(action, `${path}.actions.${place}`, byName)),
    ];
  });
}

type Fields = ReadonlyMap<string, FormField>;

function checkCondition(condition: RouteCondition, path: string, fields: Fields): SchemaProblem[] {
  const { field: name, equals, contains, oneOf } = condition;
  const inner = GROUPS.flatMap((group) =>
    (condition[group] ?? []).flatMap((member, index) => checkCondition(member, `${path}.${group}.${index}`, fields)),
  );
  if (name === undefined) return inner;
  const field = fields.get(name);
  if (field === undefined) return [noField(`${path}.field`, name)];
  return [
    ...(equals === undefined ? [] : checkOperand(equals, `${path}.equals`, field)),
    ...(contains === undefined ? [] : checkContains(contains, `${path}.contains`, field)),
    ...(oneOf ?? []).flatMap((value, index) => checkOperand(value, `${path}.oneOf.${index}`, field)),
  ];
}

function checkContains(text: string, path: string, field: FormField): SchemaProblem[] {
  if (!TEXT_KINDS.includes(field.kind)) return [wrongKind(path, field, TEXT_KINDS)];
  // It would hold for every text.
  return textKey(text) === "" ? [onlySpaces(path)] : [];
}

function checkOperand(value: Operand, path: string, field: FormField): SchemaProblem[] {
  const wanted = field.kind === "number" || field.kind === "boolean" ? field.kind : "string";
  if (typeof value !== wanted)
    return [{ path, message: `expected a ${wanted}, as ${field.name} is a ${field.kind}, got a ${typeof value}` }];
  // Neither of the two would ever apply, and nobody would know.
  if (typeof value === "string" && textKey(value) === "") return [onlySpaces(path)];
  const unknown = field.kind === "choice" && !field.choices.some((choice) => textKey(choice) === textKey(String(value)));
  return unknown ? [{ path, message: `expected one of the choices of ${field.name}` }] : [];
}

function checkAction(action: RouteAction, path: string, fields: Fields): SchemaProblem[] {
  switch (action.type) {
    case "lead":
      return [
        ...checkMapped(action.name, `${path}.name`, fields, TEXT_KINDS),
        // The lead's natural key is made from it.
        ...checkMapped(action.email, `${path}.email`, fields, ["email"]),
        ...checkMapped(action.companyName, `${path}.companyName`, fields, TEXT_KINDS),
      ];
    case "mail":
      return [
        ...checkRecipient(action.to, `${path}.to`, fields),
        ...(action.replyTo === undefined ? [] : checkRecipient(action.replyTo, `${path}.replyTo`, fields)),
        ...(["subject", "text", "html"] as const).flatMap((part) => checkLiquid(action[part], `${path}.${part}`, fields)),
      ];
    case "webhook":
      return isEventType(action.event) && action.event.startsWith("webhook.")
        ? []
        : [{ path: `${path}.event`, message: "expected an event type that begins with webhook., for example webhook.form.submitted" }];
    case "notification":
      return [...checkLiquid(action.title, `${path}.title`, fields), ...checkLiquid(action.body, `${path}.body`, fields)];
    default:
      return assertNever(action);
  }
}

function checkMapped(name: string | undefined, path: string, fields: Fields, kinds: readonly FieldKind[]): SchemaProblem[] {
  if (name === undefined) return [];
  const field = fields.get(name);
  if (field === undefined) return [noField(path, name)];
  return kinds.includes(field.kind) ? [] : [wrongKind(path, field, kinds)];
}

function checkRecipient(to: string | readonly string[] | { readonly field: string }, path: string, fields: Fields): SchemaProblem[] {
  if (typeof to === "object" && "field" in to) return checkMapped(to.field, `${path}.field`, fields, TEXT_KINDS);
  if (typeof to === "string") return checkAddress(to, path);
  return to.flatMap((each, index) => checkAddress(each, `${path}.${index}`));
}

function checkAddress(address: string, path: string): SchemaProblem[] {
  return problemOf(path, () => {
    parseAddress(address, "it");
    return null;
  });
}

function checkLiquid(template: string | undefined, path: string, fields: Fields): SchemaProblem[] {
  if (template === undefined) return [];
  return problemOf(path, () => {
    for (const [root = "", member] of checkTemplate(template, "it")) {
      if (!TEMPLATE_NAMES.has(root)) return `expected one of ${[...TEMPLATE_NAMES].join(", ")}, got ${JSON.stringify(root)}`;
      if (root === "data" && member !== undefined && !fields.has(member)) return noField(path, member).message;
    }
    return null;
  });
}

/** What a check says or throws, as a problem. */
function problemOf(path: string, check: () => string | null): SchemaProblem[] {
  try {
    const message = check();
    return message === null ? [] : [{ path, message }];
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return [{ path, message: error.message }];
  }
}

function noField(path: string, name: string): SchemaProblem {
  return { path, message: `expected a field of the form, got ${JSON.stringify(name.slice(0, 64))}` };
}

function onlySpaces(path: string): SchemaProblem {
  return { path, message: "expected more than spaces, which do not count where texts are compared" };
}

function wrongKind(path: string, field: FormField, kinds: readonly FieldKind[]): SchemaProblem {
  return { path, message: `expected a field of kind ${kinds.join(", ")}, got ${field.name}, a ${field.kind}` };
}
