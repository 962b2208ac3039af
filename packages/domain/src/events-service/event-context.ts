import { checkName, checkUuid, eventArgument } from "./event-argument.ts";

/**
 * What makes something happen, and so who is told of it.
 * - `request`: somebody asked for it. The tenant's webhook endpoints are called and the people of `notify` are told, once it is committed.
 * - `workflow`: a run did it. Nobody is told: a workflow that is to call or to tell somebody has a block for that.
 */
export type EventContext =
  | {
      readonly kind: "request";
      readonly actor: string;
      /** Whom to notify, by id; at most 100. Who is named twice is told once. */
      readonly notify?: readonly string[] | undefined;
    }
  | { readonly kind: "workflow"; readonly executionId: string };

const MAX_NOTIFIED = 100;

/** Before any SQL, so that a refused one leaves nothing behind. @throws CodedError `PUBLISH.ARGUMENT` */
export function checkEventContext(context: EventContext): void {
  switch (context.kind) {
    case "request":
      checkName(context.actor, "context.actor");
      return checkNotify(context.notify ?? []);
    case "workflow":
      return checkUuid(context.executionId, "context.executionId");
    default:
      throw eventArgument("context.kind", "request or workflow", JSON.stringify((context as { kind?: unknown }).kind) ?? "undefined");
  }
}

function checkNotify(ids: unknown): void {
  if (!Array.isArray(ids) || ids.length > MAX_NOTIFIED) {
    throw eventArgument("context.notify", `a list of at most ${MAX_NOTIFIED} ids`, Array.isArray(ids) ? String(ids.length) : typeof ids);
  }
  for (const [index, id] of ids.entries()) checkName(id, `context.notify.${index}`);
}

/** The same context that tells nobody. */
export function withoutNotifications(context: EventContext): EventContext {
  return context.kind === "request" ? { kind: "request", actor: context.actor } : context;
}
