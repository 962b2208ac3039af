import { errorCodeOf } from "@toolctrl/foundation/errors";
import { withDeadline } from "./deadline.ts";
import type { Logger } from "./logger.ts";

/** Ids, counts and names; never a payload. */
export type AlertFacts = Readonly<Record<string, string | number | boolean | null>>;

/** Tells a person. Never throws and never waits; without a DSN it only logs. */
export interface Alerts {
  /** An event that no rule routes; alerts group by its type. */
  unroutable(type: string, facts: AlertFacts): void;
  error(error: unknown, facts: AlertFacts): void;
  /** Sends what is waiting, within the time given. */
  close(graceMs: number): Promise<void>;
}

/** One alert of a kind in this time (ms): a deploy without its rule makes thousands of unroutable events a minute. */
const QUIET_MS = 60_000;
const MAX_KINDS = 1000;

type Event = { message: string; fingerprint: string[]; tags: Record<string, string>; extra: Record<string, unknown> };
interface Sender {
  event(event: Event): void;
  exception(error: unknown, fingerprint: string[], extra: Record<string, unknown>): void;
  close(graceMs: number): Promise<unknown>;
}

/** Alerts go to Sentry when a DSN is given. */
export function createAlerts(options: { dsn?: string | undefined; app: string; log: Logger }): Alerts {
  const { dsn, app, log } = options;
  const sender = dsn === undefined ? null : createSender(dsn, app);
  sender?.catch((error: unknown) => log.error({ err: error }, "alerts cannot be sent"));
  const admit = createThrottle();
  const send = (kind: string, use: (sender: Sender, suppressed: number) => void): void => {
    const suppressed = admit(kind);
    if (sender === null || suppressed === null) return;
    sender.then((ready) => use(ready, suppressed)).catch((error: unknown) => log.error({ err: error }, "an alert was not sent"));
  };
  return {
    unroutable(type, facts) {
      log.error({ type, ...facts }, "no route for this event type");
      const fingerprint = ["outbox-unroutable", type];
      const message = `No route for event type ${type}`;
      send(fingerprint.join("\n"), (ready, suppressed) =>
        ready.event({ message, fingerprint, tags: { eventType: type }, extra: { ...facts, suppressed } }),
      );
    },
    error(error, facts) {
      log.error({ err: error, ...facts }, "alert");
      const fingerprint = ["{{ default }}", errorCodeOf(error)];
      send(fingerprint.join("\n"), (ready, suppressed) => ready.exception(error, fingerprint, { ...facts, suppressed }));
    },
    async close(graceMs) {
      if (sender === null) return;
      const closed = sender.then((ready) => ready.close(graceMs));
      await withDeadline(closed, graceMs, () => new Error(`expected alerts to be sent within ${graceMs} ms`)).catch((error: unknown) => {
        log.warn({ err: error }, "alerts were lost");
      });
    },
  };
}

/** A client of its own: nothing global is patched or instrumented, and no integration adds breadcrumbs or requests to an alert. */
async function createSender(dsn: string, app: string): Promise<Sender> {
  // Loaded when there is a DSN: it is by far the largest dependency.
  const { NodeClient, Scope, defaultStackParser, makeNodeTransport } = await import("@sentry/node");
  const client = new NodeClient({ dsn, integrations: [], transport: makeNodeTransport, stackParser: defaultStackParser });
  // The client takes a wrong DSN for "send nothing".
  if (client.getDsn() === undefined) throw new Error("expected a Sentry DSN of the form https://key@host/project, got another (not shown)");
  const scopeWith = (fingerprint: string[], tags: Record<string, string>, extra: Record<string, unknown>): InstanceType<typeof Scope> => {
    const scope = new Scope();
    scope.setClient(client);
    scope.setFingerprint(fingerprint);
    scope.setTags({ ...tags, app });
    scope.setExtras(extra);
    return scope;
  };
  return {
    event: ({ message, fingerprint, tags, extra }) =>
      void client.captureEvent({ message, level: "error" }, {}, scopeWith(fingerprint, tags, extra)),
    exception: (error, fingerprint, extra) => void client.captureException(error, {}, scopeWith(fingerprint, {}, extra)),
    close: async (graceMs) => client.close(graceMs),
  };
}

/** Answers how many of a kind were held back since the last one that went out, or null to hold this one back too. */
function createThrottle(): (kind: string) => number | null {
  const kinds = new Map<string, { sentAt: number; suppressed: number }>();
  return (kind) => {
    const known = kinds.get(kind);
    if (known !== undefined && performance.now() - known.sentAt < QUIET_MS) {
      known.suppressed += 1;
      return null;
    }
    if (kinds.size >= MAX_KINDS) kinds.clear();
    kinds.set(kind, { sentAt: performance.now(), suppressed: 0 });
    return known?.suppressed ?? 0;
  };
}
