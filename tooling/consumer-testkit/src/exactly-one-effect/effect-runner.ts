import { createRouter } from "@toolctrl/event-router/router";
import { requeueEvents } from "@toolctrl/outbox-drainer/actions";
import { drain, setPullMode } from "../drain.ts";
import type { Installation } from "../installation.ts";
import type { AfterSaveSubject } from "../subject.ts";
import type { Runner } from "./runner.ts";

/** An after-save effect: deliveries are claims of the event, the first one by its publishing, each further one by a requeue. */
export function createEffectRunner(subject: AfterSaveSubject): Runner {
  return {
    main: subject.drainer,
    needsOwnDatabase: true,
    prepare: setPullMode,
    env: ({ appEnv }) => appEnv,
    // It looks when it is told to.
    isServing: () => Promise.resolve(true),
    async deliver(installation, eventId, generation) {
      if (generation > 0) await requeue(installation, eventId);
      return eventId;
    },
    async deliverForgotten(installation, eventId) {
      await installation.database.pool.query(`DELETE FROM "OutboxReceipt" WHERE "eventId" = $1`, [eventId]);
      await requeue(installation, eventId);
      return eventId;
    },
    whileRunning: (_installation, work) => work(),
    async untilEnded(installation, events) {
      await drain(installation, subject.afterSaveEffects);
      for (const id of events) {
        const { status } = await stateOf(installation, id);
        if (status !== "DONE") throw new Error(`expected event ${id} to be DONE after its attempt, got ${status}`);
      }
    },
    isFinished: async (installation, eventId) => (await stateOf(installation, eventId)).status === "DONE",
    attemptsOf: async (installation, [eventId = ""]) => (await stateOf(installation, eventId)).retries,
    suppressedOf: () => Promise.resolve(undefined),
  };
}

async function requeue({ database }: Installation, eventId: string): Promise<void> {
  const { events } = await requeueEvents({ pool: database.pool, router: createRouter() }, { ids: [eventId], actor: "test" });
  if (events[0]?.outcome !== "requeued") throw new Error(`expected event ${eventId} to be requeued, got ${events[0]?.outcome}`);
}

async function stateOf({ database }: Installation, eventId: string): Promise<{ status: string; retries: number }> {
  const { rows } = await database.pool.query<{ status: string; retries: number }>(
    `SELECT "status"::text AS "status", "retries" FROM "OutboxEvent" WHERE "id" = $1`,
    [eventId],
  );
  return rows[0] ?? { status: "gone", retries: 0 };
}
