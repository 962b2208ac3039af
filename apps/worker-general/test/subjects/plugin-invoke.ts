import { randomUUID } from "node:crypto";
import type { Subject } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { envelopeOf, type HandedOff, type Installation } from "@toolctrl/consumer-testkit/installation";
import { externalIdOf, insertIntents } from "@toolctrl/consumer/intents";
import { createReceiptAuthority } from "@toolctrl/db/receipts";
import { createPluginSubscription } from "@toolctrl/domain/plugins";
import { handedOnJobId } from "@toolctrl/queue/handed-on-jobs";
import type { HttpPeer } from "@toolctrl/testkit/http-peer";
import { PLUGIN_FANOUT, PLUGIN_INVOKE } from "../../src/plugins/invocation.ts";
import { consumersOf, partOf } from "../app.ts";
import { SECRETS_KEY } from "../plugin-support.ts";

const EVENT: HandedOff = { queue: "toolctrl.plugin-invoke", type: "plugin.hook.lead.created", payload: { lead: "7" } };

type Target =
  | { readonly kind: "function"; readonly functionName: string }
  | { readonly kind: "http"; readonly url: string; readonly secretsKey: string };

/** What both kinds of subscription have in common. */
function subjectOf(target: Target): Omit<Subject, "app" | "consumers" | "effects"> {
  return {
    name: PLUGIN_INVOKE,
    queue: EVENT.queue,
    publish: (installation) => fanOutTo(installation, target),
    async add(installation, eventId, generation) {
      const [subscription = ""] = await targetsOf(installation, eventId);
      const data = { ...envelopeOf(installation, EVENT, { eventId, generation }), target: subscription };
      const id = handedOnJobId(PLUGIN_INVOKE, { id: eventId, generation }, subscription);
      await installation.backend.addAll([{ queue: EVENT.queue, id, name: "plugin.invoke", data }]);
      return id;
    },
    table: "PluginSubscription",
    /** A settled intent is forgotten when its delivery has ended, in whose last transaction it is not written any more. */
    async removeProtection({ database }) {
      await database.pool.query(
        `CREATE FUNCTION "forgetIntent"() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
           UPDATE "OutboxIntent" SET "state" = 'pending', "sentAt" = NULL
           WHERE "eventId" = NEW."eventId" AND "state" = 'sent' AND xmin::text <> (pg_current_xact_id()::xid)::text;
           RETURN NULL;
         END $$;
         CREATE TRIGGER "forgetIntent" AFTER INSERT ON "OutboxReceipt" FOR EACH ROW EXECUTE FUNCTION "forgetIntent"()`,
      );
    },
  };
}

/** An effect is a signed call of the plugin's URL. */
export function pluginInvoke(peer: HttpPeer): Subject {
  const env = { PLUGIN_SECRETS_KEY: SECRETS_KEY, PLUGIN_BACKOFF_MS: "10", OUTBOUND_HTTP_ALLOW: `127.0.0.1:${peer.port}` };
  const callsOf = (eventId: string): string[] =>
    peer.requests.map(({ headers }) => String(headers["webhook-id"])).filter((id) => id.startsWith(eventId));
  return {
    ...subjectOf({ kind: "http", url: `${peer.url}/hook`, secretsKey: SECRETS_KEY }),
    app() {
      const part = partOf(PLUGIN_INVOKE);
      return { ...part, env: { ...part.env, ...env } };
    },
    consumers: (installation) => consumersOf({ ...installation, appEnv: { ...installation.appEnv, ...env } }),
    effects: (_installation, eventId) => Promise.resolve(callsOf(eventId).length),
    calls: (_installation, eventId) => Promise.resolve(callsOf(eventId)),
    peers: () => ({ http: peer }),
  };
}

/** An effect is what the plugin's function writes. */
export const pluginInvokeFunction: Subject = {
  ...subjectOf({ kind: "function", functionName: "count" }),
  app: () => partOf(PLUGIN_INVOKE),
  consumers: consumersOf,
  async effects({ database }, eventId) {
    const { rows } = await database.pool.query<{ value: string }>(`SELECT "value" FROM "TenantCounter" WHERE "name" = $1`, [eventId]);
    return Number(rows[0]?.value ?? 0);
  },
};

/** What a fan-out leaves behind, for one subscription. */
async function fanOutTo({ database, tenantId }: Installation, target: Target): Promise<string> {
  const eventId = randomUUID();
  const key = { eventId, tenantId, consumer: PLUGIN_INVOKE, effectEpoch: 0 } as const;
  const { id } = await database.prisma.$transaction((tx) =>
    createPluginSubscription(tx, { tenantId, pluginId: "p", eventPrefixes: [], ...target }),
  );
  await insertIntents(database.pool, key, [id], (subscription) => externalIdOf(key, subscription));
  await createReceiptAuthority(database.pool, { ...key, consumer: PLUGIN_FANOUT }).record(eventId, null);
  return eventId;
}

async function targetsOf({ database }: Installation, eventId: string): Promise<string[]> {
  const { rows } = await database.pool.query<{ target: string }>(`SELECT "target" FROM "OutboxIntent" WHERE "eventId" = $1`, [eventId]);
  return rows.map(({ target }) => target);
}
