import { startApp } from "@toolctrl/consumer-testkit/app-process";
import { crashConsumers, type CrashJourney } from "@toolctrl/consumer-testkit/crash-journey";
import {
  deliver,
  envelopeOf,
  openInstallation,
  receiptsOf,
  runConsumers,
  type BackendKind,
  type HandedOff,
  type Installation,
} from "@toolctrl/consumer-testkit/installation";
import { letLocksRunOut, untilForgotten } from "@toolctrl/consumer-testkit/locks";
import { randomFrom, seedOf } from "@toolctrl/testkit/herd";
import { startHttpPeer, type HttpPeer } from "@toolctrl/testkit/http-peer";
import { startSmtpPeer, type SmtpPeer } from "@toolctrl/testkit/smtp";
import { waitFor } from "@toolctrl/testkit/wait";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { emailJobOf } from "../src/email-job.ts";
import { appWith, consumersOf, MAIL, partOf, renderMail, type ConsumerName } from "./app.ts";

let smtp: SmtpPeer;
let http: HttpPeer;

beforeAll(async () => {
  [smtp, http] = await Promise.all([startSmtpPeer(), startHttpPeer()]);
});

/** What all journeys through this app have in common; `crashing` is the consumer whose process is ended, or all of them at once. */
function journey(backend: BackendKind, crashing: ConsumerName | "app", about: Pick<CrashJourney, "finishing" | "queues">) {
  const app = appWith({ smtp, http });
  return {
    ...about,
    app: crashing === "app" ? app : partOf(app, crashing),
    backend,
    crashing: crashing === "app" ? about.finishing : [crashing],
    ports: { [smtp.port]: "smtp", [http.port]: "http" },
    consumers: (installation: Installation) => consumersOf(installation, app),
  };
}

function mailJourney(backend: BackendKind, crashing: ConsumerName | "app"): CrashJourney {
  return {
    ...journey(backend, crashing, { finishing: ["mail-render", "email-send"], queues: ["outbox.mail", "toolctrl.email"] }),
    events: [MAIL],
    handOver: crashing === "email-send" ? handOverRendered : deliver,
    async check(installation, [eventId = ""], run) {
      await expectMailOnce(installation, eventId, run);
      if (crashing !== "email-send") await expectNoFailure(installation, "outbox.mail", `outbox-${eventId}`);
    },
  };
}

/** Renders the mail, and hands its sending on only when the process is there. */
async function handOverRendered(installation: Installation): Promise<string> {
  const eventId = await renderMail(installation, appWith({ smtp, http }));
  await installation.backend.addAll([emailJobOf(envelopeOf(installation, MAIL, { eventId }))]);
  return eventId;
}

async function expectMailOnce(installation: Installation, eventId: string, run: { crashed: boolean }): Promise<void> {
  const { pool } = installation.database;
  const seen = smtp.mails.filter(({ messageId }) => messageId.includes(eventId));
  expect(new Set(seen.map(({ messageId, to, raw }) => `${messageId} ${to.join()} ${raw}`)).size).toBe(1);
  expect(seen[0]).toMatchObject({ messageId: `<${eventId}.0@toolctrl.test>`, to: ["ann@example.test", "bob@example.test"] });
  await expectAccountedFor(installation, eventId, seen.length, run);
  const { rows } = await pool.query(
    `SELECT "recipient", "state" FROM "EmailMessage" JOIN "EmailDelivery" d ON d."messageId" = "EmailMessage"."id" ORDER BY "recipient"`,
  );
  expect(rows).toEqual(["ann@example.test", "bob@example.test"].map((recipient) => ({ recipient, state: "accepted" })));
  await expectNoFailure(installation, "toolctrl.email", `email-${eventId}`);
}

/** One call, or after a crash a repeat that the event's one intent has recorded as unknown. Caution without a repeat is allowed. */
async function expectAccountedFor(
  { database }: Installation,
  eventId: string,
  sightings: number,
  run: { crashed: boolean },
): Promise<void> {
  const { rows } = await database.pool.query<{ state: string; attempts: number; unknowns: number }>(
    `SELECT "state", "attempts", "unknowns" FROM "OutboxIntent" WHERE "eventId" = $1`,
    [eventId],
  );
  const unknowns = rows[0]?.unknowns ?? 0;
  expect(rows).toEqual([{ state: "sent", attempts: 1 + unknowns, unknowns }]);
  expect(unknowns).toBeLessThanOrEqual(run.crashed ? 1 : 0);
  expect(sightings).toBeGreaterThanOrEqual(1);
  expect(sightings).toBeLessThanOrEqual(1 + unknowns);
}

/** A crash is no failure of the job's: it must not use an attempt. */
async function expectNoFailure({ backend }: Installation, queue: HandedOff["queue"], jobId: string): Promise<void> {
  expect(await backend.find(queue, jobId)).toMatchObject({ state: "completed", failures: 0 });
}

/**
 * On Redis each consumer of this app is ended after each of its calls (`exactly-one-effect`). What Postgres changes of that is the queue's
 * part, which has crash tests of its own; here every `STRIDE`-th call, from a first one that the seed chooses, and so another in each run.
 */
const STRIDE = 3;
const first = 1 + Math.floor(randomFrom(seedOf("CRASH_SEED"))() * STRIDE);

describe("ended after a call, the effect is there once, or repeated as it was and recorded as unknown:", () => {
  test.for([
    { name: "mail-render on Postgres", least: 4, steps: { step: STRIDE, first }, of: () => mailJourney("postgres", "mail-render") },
    { name: "email-send on Postgres", least: 5, steps: { step: STRIDE, first }, of: () => mailJourney("postgres", "email-send") },
    { name: "the whole app on the way of a mail", least: 9, steps: { step: 3 }, of: () => mailJourney("redis", "app") },
  ])("$name, each third call ($least at least)", { timeout: 300_000 }, async ({ least, steps, of }, { annotate }) => {
    const points = await crashConsumers(of(), steps);
    await annotate(`${points.length} crash points`);
    expect(points.length, `${points.length} crash points`).toBeGreaterThanOrEqual(least);
  });
});

test("killed while the mail server keeps its answer back: the mail is repeated once, as it was, and recorded as unknown", async () => {
  const installation = await openInstallation("redis");
  onTestFinished(() => installation.close());
  const silent = await startSmtpPeer({ behaviour: { kind: "swallow" } });
  const app = appWith({ smtp: silent, http });
  const worker = await startApp(installation, app);
  const eventId = await deliver(installation, MAIL);
  await silent.nextMail();
  worker.kill("SIGKILL");
  await worker.waitForExit();
  await untilForgotten(installation);
  await letLocksRunOut(installation);
  silent.setBehaviour({ kind: "accept" });
  const { consumers, close } = consumersOf(installation, app);
  const running = runConsumers(installation, consumers);
  await waitFor(async () => (await receiptsOf(installation, eventId)).includes("email-send done"), { timeoutMs: 20_000 });
  await running.close(2000);
  await close();
  expect(silent.mails.map(({ messageId }) => messageId)).toEqual([`<${eventId}.0@toolctrl.test>`, `<${eventId}.0@toolctrl.test>`]);
  const { rows } = await installation.database.pool.query(`SELECT "state", "attempts", "unknowns" FROM "OutboxIntent"`);
  expect(rows).toEqual([{ state: "sent", attempts: 2, unknowns: 1 }]);
});
