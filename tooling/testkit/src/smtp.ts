import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { SMTPServer, type SMTPServerEnvelope, type SMTPServerOptions } from "smtp-server";
import { dripTo } from "./drip.ts";
import { track } from "./tracked.ts";
import { waitFor } from "./wait.ts";

/** How the peer treats what comes next. */
export type SmtpBehaviour =
  | { kind: "accept" }
  /** Refuses the sender with this code. Like most servers it takes commands ahead, and answers those behind it 503. */
  | { kind: "reject-sender"; code: number }
  /** Refuses recipients by address (`"*"`: all others) with this code, e.g. `{ "gone@example.com": 550 }`. */
  | { kind: "reject"; codes: Record<string, number> }
  /** Refuses the message with this code after it has come in whole; it is not kept. */
  | { kind: "reject-message"; code: number }
  /** Takes the message and keeps it, but its reply never comes: the connection hangs (the default), or is dropped. */
  | { kind: "swallow"; connection?: "hang" | "drop" }
  /** Takes the message, and replies after so long. */
  | { kind: "slow"; ms: number }
  /** Replies one byte at a time. */
  | { kind: "drip"; pauseMs: number }
  /** Ends the connection at this point; the message is not kept. */
  | { kind: "drop"; at: "connect" | "rcpt" | "data" };

export interface ReceivedMail {
  /** The envelope's sender. */
  from: string;
  /** The envelope's accepted recipients. */
  to: string[];
  /** The Message-ID header with its angle brackets, or "". */
  messageId: string;
  /** The message as it came, headers and body. */
  raw: string;
  /** Headers by lower-case name, unfolded; of several with one name the last. */
  headers: Record<string, string>;
}

export interface SmtpPeer {
  readonly port: number;
  /** Every mail kept so far, in order. */
  readonly mails: readonly ReceivedMail[];
  /** Connections that clients have to it now; one whose last words are still being read counts. */
  connections(): number;
  /** The next mail that no earlier call has returned; waits for it up to 10 s. */
  nextMail(): Promise<ReceivedMail>;
  setBehaviour(behaviour: SmtpBehaviour): void;
  close(): Promise<void>;
}

type Callback = (error?: Error | null) => void;

/** Starts a real SMTP server on loopback that keeps every mail in memory and can misbehave on request. Any credentials pass. */
export async function startSmtpPeer(options: { behaviour?: SmtpBehaviour; port?: number } = {}): Promise<SmtpPeer> {
  const state: PeerState = { behaviour: options.behaviour ?? { kind: "accept" }, mails: [], connections: 0, clients: new Map(), taken: 0 };
  const smtp = new SMTPServer(handlersFor(state));
  // A client that goes away in mid-dialogue is the client's affair.
  smtp.on("error", () => undefined);
  await new Promise<void>((resolve) => smtp.listen(0, "127.0.0.1", () => resolve()));
  const smtpPort = (smtp.server.address() as AddressInfo).port;
  const front = createServer((client) => connectThrough(state, client, smtpPort));
  front.listen(options.port ?? 0, "127.0.0.1");
  await once(front, "listening");
  const { port } = front.address() as AddressInfo;
  const close = async (): Promise<void> => {
    untrack();
    const closed = Promise.all([
      new Promise((resolve) => front.close(resolve)),
      new Promise<void>((resolve) => smtp.close(() => resolve())),
    ]);
    for (const client of state.clients.values()) client.destroy();
    await closed;
  };
  const untrack = track(`the SMTP peer on port ${port}`, close);
  return {
    port,
    mails: state.mails,
    connections: () => state.connections,
    setBehaviour: (behaviour) => void (state.behaviour = behaviour),
    nextMail() {
      const index = state.taken;
      state.taken += 1;
      return waitFor(() => state.mails[index], { what: `mail number ${index + 1}` });
    },
    close,
  };
}

interface PeerState {
  behaviour: SmtpBehaviour;
  mails: ReceivedMail[];
  /** Of clients to us, of us to the server behind, and messages that are being read. */
  connections: number;
  /** The client's socket by the local port of our connection to the server behind: that is how the server names a session. */
  clients: Map<number, Socket>;
  taken: number;
}

// The product's client talks to this front, so that replies can drip and connections end at any point of the dialogue.
function connectThrough(state: PeerState, client: Socket, smtpPort: number): void {
  client.on("error", () => undefined);
  state.connections += 1;
  client.once("close", () => void (state.connections -= 1));
  if (state.behaviour.kind === "drop" && state.behaviour.at === "connect") {
    client.destroy();
    return;
  }
  const server = connect(smtpPort, "127.0.0.1", () => {
    const key = server.localPort ?? 0;
    state.clients.set(key, client);
    client.once("close", () => state.clients.delete(key));
    client.pipe(server);
    dripTo(client, server, () => (state.behaviour.kind === "drip" ? state.behaviour.pauseMs : null));
  });
  server.on("error", () => client.destroy());
  server.once("close", () => client.end());
  client.once("close", () => server.destroy());
}

function handlersFor(state: PeerState): SMTPServerOptions {
  const drop = (session: { remotePort?: number }): void => void state.clients.get(session.remotePort ?? 0)?.destroy();
  return {
    authOptional: true,
    allowInsecureAuth: true,
    disabledCommands: ["STARTTLS"],
    disableReverseLookup: true,
    logger: false,
    onAuth: (auth, _session, callback) => callback(null, { user: auth.username ?? "anyone" }),
    onConnect(_session, callback) {
      state.connections += 1;
      callback();
    },
    onClose: () => void (state.connections -= 1),
    onMailFrom(_address, _session, callback: Callback) {
      const { behaviour } = state;
      return behaviour.kind === "reject-sender" ? callback(refusal(behaviour.code)) : callback();
    },
    onRcptTo(address, session, callback: Callback) {
      const { behaviour } = state;
      if (behaviour.kind === "drop" && behaviour.at === "rcpt") return drop(session);
      const code = behaviour.kind === "reject" ? (behaviour.codes[address.address] ?? behaviour.codes["*"]) : undefined;
      return code === undefined ? callback() : callback(refusal(code));
    },
    onData(stream, session, callback: Callback) {
      const { behaviour } = state;
      if (behaviour.kind === "drop" && behaviour.at === "data") return drop(session);
      state.connections += 1;
      const kept = keepMail(state, stream, session.envelope, { reply: callback, drop: () => drop(session) });
      void kept.finally(() => void (state.connections -= 1));
    },
  };
}

async function keepMail(
  state: PeerState,
  stream: Readable,
  envelope: SMTPServerEnvelope,
  session: { reply: Callback; drop(): void },
): Promise<void> {
  const { behaviour } = state;
  const from = envelope.mailFrom === false ? "" : envelope.mailFrom.address;
  const to = envelope.rcptTo.map((recipient) => recipient.address);
  // A client that goes away inside its message has sent none.
  const raw = await text(stream).catch(() => null);
  if (raw === null) return;
  if (behaviour.kind === "reject-message") return session.reply(refusal(behaviour.code));
  state.mails.push({ from, to, raw, ...readHeaders(raw) });
  if (behaviour.kind === "slow") await delay(behaviour.ms);
  if (behaviour.kind !== "swallow") return session.reply();
  if (behaviour.connection === "drop") session.drop();
}

function refusal(responseCode: number): Error {
  const why = responseCode < 500 ? "try again later" : "not accepted here";
  return Object.assign(new Error(why), { responseCode });
}

function readHeaders(raw: string): { headers: Record<string, string>; messageId: string } {
  const [head = ""] = raw.split(/\r?\n\r?\n/, 1);
  const headers: Record<string, string> = {};
  for (const line of head.replaceAll(/\r?\n[ \t]+/g, " ").split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon > 0) headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  return { headers, messageId: headers["message-id"] ?? "" };
}
