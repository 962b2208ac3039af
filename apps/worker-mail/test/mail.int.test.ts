// Mostly waits: for deadlines and backoffs.
import { jobIdOf, jobIdFor } from "@toolctrl/queue/job-id";
import { startSmtpPeer } from "@toolctrl/testkit/smtp";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { createHarness, losingItsDeaths, type Harness } from "./harness.ts";

const MAIL = {
  to: "ann@example.test",
  subject: "Invoice {{ number }}",
  text: "Dear {{ name }}",
  html: "<p>{{ name }}</p>",
  data: { number: 7, name: 'O"Br<i>en & Söhne' },
};

async function startMail(
  options: Parameters<typeof createHarness>[0] = {},
  sendDeadlineMs?: number,
): Promise<{ harness: Harness; smtp: Awaited<ReturnType<typeof startSmtpPeer>> }> {
  const harness = await createHarness(options);
  const smtp = await startSmtpPeer();
  harness.start(harness.mailRender(), harness.emailSend(smtp.port, sendDeadlineMs));
  return { harness, smtp };
}

test("an event becomes one mail: rendered, escaped in HTML and raw in text, with a Message-ID made from the event", async () => {
  const { harness, smtp } = await startMail();
  const id = await harness.publish("mail.message.send", MAIL);
  const mail = await smtp.nextMail();
  expect(mail).toMatchObject({ from: "noreply@toolctrl.test", to: ["ann@example.test"], messageId: `<${id}.0@mail.toolctrl.test>` });
  expect(mail.headers["subject"]).toBe("Invoice 7");
  expect(mail.headers["to"]).toBe("ann@example.test");
  const body = decodeParts(mail.raw);
  expect(body).toContain('Dear O"Br<i>en & Söhne');
  expect(body).toContain("<p>O&#34;Br&lt;i&gt;en &amp; Söhne</p>");
  await harness.untilReceipt(id, "mail-render");
  await harness.untilReceipt(id, "email-send");
  expect(await harness.intents(id)).toMatchObject([
    { consumer: "email-send", state: "sent", attempts: 1, unknowns: 0, externalId: `${id}.0@mail.toolctrl.test` },
  ]);
  expect(await harness.recipients(id)).toEqual({ "ann@example.test": "accepted" });
});

test("each job twice in sequence, and once more after its completed job is gone: one mail", async () => {
  const { harness, smtp } = await startMail();
  const id = await harness.publish("mail.message.send", MAIL);
  await harness.untilReceipt(id, "email-send");
  await harness.untilIdle("outbox.mail", "toolctrl.email");
  await harness.redeliver("toolctrl.email", jobIdOf("email", id));
  await harness.redeliver("outbox.mail", jobIdFor(id));
  await harness.untilIdle("outbox.mail", "toolctrl.email");
  await harness.requeue(id);
  await harness.untilIdle("outbox.mail", "toolctrl.email");
  expect(smtp.mails).toHaveLength(1);
  expect(await harness.intents(id)).toMatchObject([{ state: "sent", attempts: 1 }]);
});

test("each job twice at once: one mail, and nothing unknown", async () => {
  const harness = await createHarness();
  const smtp = await startSmtpPeer();
  const id = await harness.publish("mail.message.send", MAIL);
  const rendering = await harness.copyJob("outbox.mail", jobIdFor(id), jobIdFor(id, 1));
  harness.start(harness.mailRender());
  await harness.untilReceipt(id, "mail-render");
  await harness.untilIdle("outbox.mail");
  expect(rendering.generation).toBe(1);
  await waitFor(async () => (await harness.backend.counts("toolctrl.email")).waiting === 2);
  harness.start(harness.emailSend(smtp.port));
  await harness.untilReceipt(id, "email-send");
  await harness.untilIdle("toolctrl.email");
  expect(smtp.mails).toHaveLength(1);
  expect(await harness.intents(id)).toMatchObject([{ state: "sent", attempts: 1, unknowns: 0 }]);
});

test("a rendered event whose sending job was lost gets it again from its next delivery", async () => {
  const harness = await createHarness();
  const smtp = await startSmtpPeer();
  const rendering = harness.start(harness.mailRender());
  const id = await harness.publish("mail.message.send", MAIL);
  await harness.untilReceipt(id, "mail-render");
  await waitFor(async () => (await harness.backend.counts("toolctrl.email")).waiting === 1);
  await rendering.close(2000);
  await harness.backend.obliterate("toolctrl.email");
  await harness.requeue(id);
  harness.start(harness.mailRender(), harness.emailSend(smtp.port));
  await harness.untilReceipt(id, "email-send");
  expect(smtp.mails).toHaveLength(1);
});

test("a replay of email-send sends the mail once more, under a Message-ID of its own; a replay of mail-render sends nothing", async () => {
  const { harness, smtp } = await startMail();
  const id = await harness.publish("mail.message.send", MAIL);
  await harness.untilReceipt(id, "email-send");
  await harness.requeue(id, "mail-render");
  await harness.untilReceipt(id, "mail-render", "done", 1);
  await harness.untilIdle("outbox.mail", "toolctrl.email");
  expect(smtp.mails).toHaveLength(1);
  await harness.requeue(id, "email-send");
  await harness.untilReceipt(id, "email-send", "done", 2);
  await harness.untilIdle("outbox.mail", "toolctrl.email");
  expect(smtp.mails.map(({ messageId }) => messageId)).toEqual([`<${id}.0@mail.toolctrl.test>`, `<${id}.2@mail.toolctrl.test>`]);
});

test("three recipients, one refused for good and one deferred: only the deferred one is tried again, and the job ends dead naming the refusal", async () => {
  const { harness, smtp } = await startMail({ attempts: 8, backoffMs: 20 });
  smtp.setBehaviour({ kind: "reject", codes: { "gone@example.test": 550, "busy@example.test": 451 } });
  const id = await harness.publish("mail.message.send", { ...MAIL, to: ["ann@example.test", "gone@example.test", "busy@example.test"] });
  await waitFor(async () => ((await harness.intents(id))[0]?.attempts ?? 0) >= 2);
  expect(await harness.recipients(id)).toEqual({
    "ann@example.test": "accepted",
    "gone@example.test": "rejected",
    "busy@example.test": "pending",
  });
  smtp.setBehaviour({ kind: "accept" });
  const receipt = await harness.untilReceipt(id, "email-send", "dead");
  expect(receipt.detail).toContain("1 of 3 refused: g…@example.test (550");
  expect(receipt.detail).not.toContain("gone@example.test");
  expect(smtp.mails.map(({ to }) => to)).toEqual([["ann@example.test"], ["busy@example.test"]]);
  expect(new Set(smtp.mails.map(({ raw }) => raw)).size).toBe(1);
  expect(await harness.recipients(id)).toEqual({
    "ann@example.test": "accepted",
    "gone@example.test": "rejected",
    "busy@example.test": "accepted",
  });

  await harness.requeue(id);
  await harness.untilReceipt(id, "email-send", "done");
  expect(smtp.mails.map(({ to }) => to)).toEqual([["ann@example.test"], ["busy@example.test"], ["gone@example.test"]]);
});

test("550 is permanent after one try; 451 is tried again with backoff until the attempts are used", async () => {
  const { harness, smtp } = await startMail({ attempts: 3 });
  smtp.setBehaviour({ kind: "reject", codes: { "*": 550 } });
  const refused = await harness.publish("mail.message.send", MAIL);
  await harness.untilReceipt(refused, "email-send", "dead");
  expect(await harness.intents(refused)).toMatchObject([{ state: "failed", attempts: 1, lastErrorCode: "MAIL.REJECTED" }]);
  smtp.setBehaviour({ kind: "reject-message", code: 451 });
  const deferred = await harness.publish("mail.message.send", MAIL);
  const receipt = await harness.untilReceipt(deferred, "email-send", "dead");
  expect(receipt.detail).toContain("MAIL.DEFERRED");
  expect(await harness.intents(deferred)).toMatchObject([{ state: "pending", attempts: 3, unknowns: 0 }]);
  expect(smtp.mails).toHaveLength(0);
});

test("a job that comes again after its mail was refused for good, before its death is written, asks no server: neither at first nor once requeued", async () => {
  const harness = await createHarness();
  const smtp = await startSmtpPeer();
  let asked = 0;
  smtp.setBehaviour({
    kind: "reject",
    codes: {
      get "*"() {
        asked += 1;
        return 550;
      },
    },
  });
  harness.start(harness.mailRender(), losingItsDeaths(harness.emailSend(smtp.port)));
  const id = await harness.publish("mail.message.send", MAIL);
  const receipt = await harness.untilReceipt(id, "email-send", "dead");
  expect(receipt.detail).toContain("MAIL.REJECTED: expected every recipient to be accepted, got 1 of 1 refused: a…@example.test (550");
  expect(asked).toBe(1);
  await harness.requeue(id);
  await waitFor(() => asked > 1);
  await harness.untilReceipt(id, "email-send", "dead");
  await harness.untilIdle("toolctrl.email");
  expect(asked).toBe(2);
});

test("a sender refused for now is tried again, and one refused for good is refused with the server's own word, though RCPT was sent ahead", async () => {
  const { harness, smtp } = await startMail({ attempts: 8 });
  smtp.setBehaviour({ kind: "reject-sender", code: 452 });
  const deferred = await harness.publish("mail.message.send", { ...MAIL, to: ["ann@example.test", "bob@example.test"] });
  await waitFor(async () => (await harness.intents(deferred))[0]?.lastErrorCode === "MAIL.DEFERRED");
  expect(await harness.recipients(deferred)).toEqual({ "ann@example.test": "pending", "bob@example.test": "pending" });
  smtp.setBehaviour({ kind: "accept" });
  await harness.untilReceipt(deferred, "email-send");
  expect(smtp.mails.map(({ to }) => to)).toEqual([["ann@example.test", "bob@example.test"]]);

  smtp.setBehaviour({ kind: "reject-sender", code: 552 });
  const refused = await harness.publish("mail.message.send", MAIL);
  const receipt = await harness.untilReceipt(refused, "email-send", "dead");
  expect(receipt.detail).toContain("(552 ");
  expect(await harness.intents(refused)).toMatchObject([{ state: "failed", attempts: 1, lastErrorCode: "MAIL.REJECTED" }]);
});

test("a recipient who is answered with no reply of SMTP's is not accepted with the others, but tried again", async () => {
  const { harness, smtp } = await startMail({ attempts: 8 });
  smtp.setBehaviour({ kind: "reject", codes: { "odd@example.test": 333 } });
  const id = await harness.publish("mail.message.send", { ...MAIL, to: ["ann@example.test", "odd@example.test"] });
  await waitFor(async () => (await harness.intents(id))[0]?.lastErrorCode === "MAIL.DEFERRED");
  expect(await harness.recipients(id)).toEqual({ "ann@example.test": "accepted", "odd@example.test": "pending" });
  smtp.setBehaviour({ kind: "accept" });
  await harness.untilReceipt(id, "email-send");
  expect(smtp.mails.map(({ to }) => to)).toEqual([["ann@example.test"], ["odd@example.test"]]);
});

test.each(["hang", "drop"] as const)(
  "the reply after DATA never comes (%s): the outcome is recorded as unknown and the repeat carries the same Message-ID",
  async (connection) => {
    const { harness, smtp } = await startMail({ attempts: 8 }, 400);
    smtp.setBehaviour({ kind: "swallow", connection });
    const id = await harness.publish("mail.message.send", MAIL);
    await smtp.nextMail();
    await waitFor(async () => (await harness.intents(id))[0]?.state === "unknown");
    smtp.setBehaviour({ kind: "accept" });
    await harness.untilReceipt(id, "email-send");
    const [intent] = await harness.intents(id);
    expect(intent).toMatchObject({ state: "sent" });
    expect(intent?.unknowns).toBeGreaterThanOrEqual(1);
    expect(await harness.metrics.text()).toContain(`outbox_outcome_unknown_total{consumer="email-send"} ${intent?.unknowns}`);
    expect(smtp.mails.length).toBe((intent?.unknowns ?? 0) + 1);
    expect(new Set(smtp.mails.map(({ raw }) => raw)).size).toBe(1);
  },
);

test.each(["connect", "rcpt"] as const)("a connection lost at %s is known not to have sent anything", async (at) => {
  const { harness, smtp } = await startMail({ attempts: 20 });
  smtp.setBehaviour({ kind: "drop", at });
  const id = await harness.publish("mail.message.send", MAIL);
  await waitFor(async () =>
    (await harness.metrics.text()).includes('outbox_consumer_deliveries_total{consumer="email-send",outcome="retry"}'),
  );
  smtp.setBehaviour({ kind: "accept" });
  await harness.untilReceipt(id, "email-send");
  expect(await harness.intents(id)).toMatchObject([{ state: "sent", unknowns: 0 }]);
  expect(smtp.mails).toHaveLength(1);
});

test("a server that drips its replies is given up at the one total deadline", async () => {
  const { harness, smtp } = await startMail({ attempts: 20, claimTtlMs: 10_000 }, 600);
  smtp.setBehaviour({ kind: "drip", pauseMs: 50 });
  const id = await harness.publish("mail.message.send", MAIL);
  await waitFor(async () =>
    (await harness.metrics.text()).includes('outbox_consumer_deliveries_total{consumer="email-send",outcome="retry"}'),
  );
  expect(smtp.mails).toHaveLength(0);
  smtp.setBehaviour({ kind: "accept" });
  await harness.untilReceipt(id, "email-send");
  expect(smtp.mails).toHaveLength(1);
});

test("a send found in flight is left alone while it may still run, then counted as unknown and sent again", async () => {
  const harness = await createHarness({ attempts: 5 });
  const smtp = await startSmtpPeer();
  const rendering = harness.start(harness.mailRender());
  const id = await harness.publish("mail.message.send", MAIL);
  await harness.untilReceipt(id, "mail-render");
  await rendering.close(2000);
  // What a killed process leaves behind.
  await harness.database.pool.query(
    `UPDATE "OutboxIntent" SET "state" = 'sending', "token" = gen_random_uuid(), "attempts" = 1, "sendingSince" = clock_timestamp() WHERE "eventId" = $1`,
    [id],
  );
  harness.start(harness.emailSend(smtp.port, 1000));
  await waitFor(async () => (await harness.backend.counts("toolctrl.email")).delayed === 1);
  expect(smtp.mails).toHaveLength(0);
  await harness.untilReceipt(id, "email-send");
  expect(await harness.intents(id)).toMatchObject([{ state: "sent", attempts: 2, unknowns: 1 }]);
  expect(smtp.mails.map(({ messageId }) => messageId)).toEqual([`<${id}.0@mail.toolctrl.test>`]);
});

test("a mail of 300 kB travels by reference and arrives whole", async () => {
  const { harness, smtp } = await startMail();
  const long = "lorem ipsum ".repeat(25_000);
  const id = await harness.publish("mail.message.send", { to: "ann@example.test", subject: "Long", text: "{{ long }}", data: { long } });
  const mail = await smtp.nextMail();
  await harness.untilReceipt(id, "email-send");
  expect(decodeParts(mail.raw).replaceAll(/\s+/g, " ")).toContain(long.trim());
});

test.each([
  ["a list of addresses", { to: "a@x.test, b@evil.test" }],
  ["a header after a line break in the address", { to: "a@x.test\r\nBcc: b@evil.test" }],
  ["a group", { to: "friends: a@x.test, b@evil.test;" }],
  ["a display name", { to: '"b@evil.test" <a@x.test>' }],
  ["a second address in reply-to", { replyTo: "a@x.test, b@evil.test" }],
  ["a line break in the sender", { from: "a@x.test\nBcc: b@evil.test" }],
  ["a line break in a value of the subject", { subject: "Hello {{ name }}", data: { name: "x\r\nBcc: b@evil.test" } }],
])("%s is refused before any mail server is asked", async (_what, fields) => {
  const { harness, smtp } = await startMail();
  const id = await harness.publish("mail.message.send", { ...MAIL, ...fields });
  const receipt = await harness.untilReceipt(id, "mail-render", "dead");
  expect(receipt.detail).toContain("MAIL.ADDRESS");
  expect(receipt.detail).not.toContain("evil");
  await harness.untilIdle("outbox.mail", "toolctrl.email");
  expect(smtp.mails).toHaveLength(0);
});

/** The decoded bodies of a message, one after the other. */
function decodeParts(raw: string): string {
  const boundary = /boundary="([^"]+)"/.exec(raw)?.[1];
  const parts = boundary === undefined ? [raw] : raw.split(`--${boundary}`).slice(1);
  return parts.map(decodePart).join("\n");
}

function decodePart(part: string): string {
  const split = /\r?\n\r?\n/.exec(part);
  if (split === null) return "";
  const head = part.slice(0, split.index);
  const body = part.slice(split.index + split[0].length);
  if (/base64/i.test(head)) return Buffer.from(body, "base64").toString("utf8");
  if (!/quoted-printable/i.test(head)) return body;
  const bytes = body
    .replaceAll(/=\r?\n/g, "")
    .replaceAll(/=([0-9A-F]{2})/g, (_match, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString("utf8");
}
