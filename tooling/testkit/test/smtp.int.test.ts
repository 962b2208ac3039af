import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { startSmtpPeer, type SmtpPeer } from "../src/smtp.ts";
import { waitFor } from "../src/wait.ts";

/** A client that speaks one line at a time; `say` gives the reply's code, or null when the connection ended instead. */
async function dial(peer: SmtpPeer): Promise<{ say(line: string): Promise<number | null>; socket: Socket; chunks: Buffer[] }> {
  const socket = connect(peer.port, "127.0.0.1");
  socket.on("error", () => undefined);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  const replies = createInterface({ input: socket })[Symbol.asyncIterator]();
  const reply = async (): Promise<number | null> => {
    for (;;) {
      const next = await replies.next();
      if (next.done === true) return null;
      if (/^\d{3} /.test(next.value)) return Number(next.value.slice(0, 3));
    }
  };
  await once(socket, "connect");
  await reply();
  const say = (line: string): Promise<number | null> => {
    socket.write(`${line}\r\n`);
    return reply();
  };
  await say("EHLO test");
  return { say, socket, chunks };
}

async function sendMail(peer: SmtpPeer, to: string[]): Promise<Array<number | null>> {
  const { say, socket } = await dial(peer);
  const codes = [await say("MAIL FROM:<a@example.com>")];
  for (const address of to) codes.push(await say(`RCPT TO:<${address}>`));
  codes.push(await say("DATA"), await say("Message-ID: <m1@example.com>\r\nSubject: one\r\n two\r\n\r\nhello\r\n."));
  socket.end();
  return codes;
}

test("an accepted mail is kept with envelope, headers and body", async () => {
  const peer = await startSmtpPeer();
  expect(await sendMail(peer, ["b@example.com"])).toEqual([250, 250, 354, 250]);
  const mail = await peer.nextMail();
  expect(mail).toMatchObject({ from: "a@example.com", to: ["b@example.com"], messageId: "<m1@example.com>" });
  expect(mail.headers["subject"]).toBe("one two");
  expect(mail.raw).toContain("\r\n\r\nhello\r\n");
  await peer.close();
});

test("a rejected recipient is refused with its code and the others get the mail", async () => {
  const peer = await startSmtpPeer({ behaviour: { kind: "reject", codes: { "gone@example.com": 550, "busy@example.com": 451 } } });
  const codes = await sendMail(peer, ["gone@example.com", "busy@example.com", "b@example.com"]);
  expect(codes).toEqual([250, 550, 451, 250, 354, 250]);
  expect(await peer.nextMail()).toMatchObject({ to: ["b@example.com"] });
});

test("a rejected message is not kept", async () => {
  const peer = await startSmtpPeer({ behaviour: { kind: "reject-message", code: 554 } });
  expect((await sendMail(peer, ["b@example.com"])).at(-1)).toBe(554);
  expect(peer.mails).toEqual([]);
});

test("a swallowed reply leaves the mail kept and the client without an answer", async () => {
  const peer = await startSmtpPeer({ behaviour: { kind: "swallow", connection: "drop" } });
  expect((await sendMail(peer, ["b@example.com"])).at(-1)).toBe(null);
  expect(peer.mails).toHaveLength(1);
});

test("a slow reply comes after the mail was kept", async () => {
  const peer = await startSmtpPeer({ behaviour: { kind: "slow", ms: 200 } });
  let replied = false;
  const sending = sendMail(peer, ["b@example.com"]).finally(() => (replied = true));
  await peer.nextMail();
  expect(replied).toBe(false);
  expect((await sending).at(-1)).toBe(250);
});

test.each(["rcpt", "data"] as const)("a connection dropped at %s leaves no mail", async (at) => {
  const peer = await startSmtpPeer({ behaviour: { kind: "drop", at } });
  expect((await sendMail(peer, ["b@example.com"])).at(-1)).toBe(null);
  expect(peer.mails).toEqual([]);
});

test("dripped replies come one byte at a time and whole", async () => {
  const peer = await startSmtpPeer({ behaviour: { kind: "drip", pauseMs: 1 } });
  const { say, chunks, socket } = await dial(peer);
  const before = Buffer.concat(chunks).length;
  expect(await say("NOOP")).toBe(250);
  const reply = Buffer.concat(chunks).subarray(before).toString().trim();
  expect(reply).toMatch(/^250 .+$/);
  expect(chunks.length).toBeGreaterThan(reply.length / 2);
  socket.end();
});

test("a connection counts until the last of its client is read", async () => {
  const peer = await startSmtpPeer({ behaviour: { kind: "swallow" } });
  const { say, socket } = await dial(peer);
  expect(peer.connections()).toBeGreaterThan(0);
  for (const line of ["MAIL FROM:<a@example.com>", "RCPT TO:<b@example.com>", "DATA"]) await say(line);
  socket.write("Subject: one\r\n\r\nhello\r\n.\r\n");
  await peer.nextMail();
  expect(peer.connections()).toBeGreaterThan(0);
  socket.destroy();
  await waitFor(() => peer.connections() === 0);
});

test("closing ends a connection that hangs on a swallowed reply", async () => {
  const peer = await startSmtpPeer({ behaviour: { kind: "swallow", connection: "hang" } });
  const sending = sendMail(peer, ["b@example.com"]);
  await peer.nextMail();
  await peer.close();
  expect((await sending).at(-1)).toBe(null);
});
