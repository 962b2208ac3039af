import { randomFrom, seedOf } from "@toolctrl/testkit/herd";
import { expect, test } from "vitest";
import { leadNameOf, readOutcome, tally, untilOver, type FormOutcome } from "./form-outcome.ts";
import { makeForm, messageOf, pressAll, pressesOf, type Sent } from "./form-traffic.ts";
import { startMixedHerd } from "./mixed-herd.ts";
import { openRig } from "./rig.ts";

const COUNTS = { people: 800, clickTwice: 100, comeAgain: 100 };
const CONNECTIONS = 5;
const KILL_EVERY_MS = 2_000;

/** A dead process holds its claims for these times; an operator's are longer, the protocol is the same. */
const SHORT_LEASES = { OUTBOX_LEASE_MS: "2000", OUTBOX_LOCK_TIMEOUT_MS: "1000" };

/** The submissions, without second clicks. */
const submissionsOf = (sent: readonly Sent[]): Sent[] => [...new Map(sent.map((each) => [each.submission.id, each])).values()];

const asking = (sent: readonly Sent[], message: ReturnType<typeof messageOf>): Sent[] =>
  submissionsOf(sent).filter(({ press }) => messageOf(press) === message);

/** One of form-route, two of a mail, one of a webhook or a notification. */
const receiptsOf = (sent: readonly Sent[]): number =>
  2 * submissionsOf(sent).length + asking(sent, "mail").length - asking(sent, null).length;

/** What has to have come of them: how many of each, by the id that tells them apart. */
function expectedOf(sent: readonly Sent[], { published }: FormOutcome) {
  const idsOf = (kind: keyof FormOutcome["published"]): string[] =>
    asking(sent, kind)
      .map(({ submission }) => published[kind].get(submission.id) ?? `none for ${submission.id}`)
      .sort();
  const leads = tally([...new Set(submissionsOf(sent).map(({ press }) => leadNameOf(press.data)))]);
  return {
    leads,
    mails: idsOf("mail"),
    webhooks: idsOf("webhook"),
    notifications: tally(asking(sent, "notification").map(({ submission }) => submission.id)),
    events: {
      "form.submission.received": submissionsOf(sent).length,
      "record.lead.created": Object.keys(leads).length,
      "mail.message.send": asking(sent, "mail").length,
      "webhook.form.submitted": asking(sent, "webhook").length,
      "notification.message.create": asking(sent, "notification").length,
    },
    strayed: [],
  };
}

test(
  "1,000 forms, 20 % of them sent twice, over two workers of each kind, one killed every two seconds: each lead, mail, webhook and notification once",
  { timeout: 300_000 },
  async () => {
    const seed = seedOf("FORMS_SEED");
    const random = randomFrom(seed);
    const rig = await openRig({ env: SHORT_LEASES });
    const form = await makeForm(rig);
    const presses = pressesOf(COUNTS, random);
    const general = () => rig.start("general");
    const mail = () => rig.start("mail");
    const herd = await startMixedHerd({ places: [general, general, mail, mail], killEveryMs: KILL_EVERY_MS, random });
    const sent = await pressAll(rig, form, presses, CONNECTIONS);
    await untilOver(rig, receiptsOf(sent), 120_000);
    const kills = herd.kills();
    const exits = await herd.stop();

    const outcome = await readOutcome(rig, sent);
    const { leads, mails, webhooks, notifications, events, strayed } = outcome;
    const expected = expectedOf(sent, outcome);
    const idsOf = (seen: FormOutcome["mails"]): string[] => seen.map(({ id }) => id).sort();
    expect([presses.length, sent.filter(({ duplicate }) => duplicate).length]).toEqual([1_000, COUNTS.clickTwice]);
    expect({ leads, notifications, events, strayed, mails: idsOf(mails), webhooks: idsOf(webhooks) }, `seed ${seed}`).toEqual(expected);
    const repeated = [...mails, ...webhooks].filter(({ raw }) => raw > 1);
    expect(
      repeated.filter(({ raw, unknowns }) => raw > 1 + unknowns),
      `sent again without a recorded reason, seed ${seed}`,
    ).toEqual([]);
    expect(exits).toEqual(exits.map(() => ({ code: 0, signal: null })));
    expect(kills.reduce((sum, each) => sum + each, 0)).toBeGreaterThan(1);
    process.stdout.write(
      `${sent.length} forms: ${submissionsOf(sent).length} submissions, ${Object.keys(leads).length} leads, ${mails.length} mails, ` +
        `${webhooks.length} webhooks; kills ${kills.join(" + ")}, ${repeated.length} repeats on record\n`,
    );
  },
);
