import { Readable } from "node:stream";
import SMTPConnection, {
  type SMTPConnectionEnvelope,
  type SMTPConnectionSendInfo,
  type SMTPEnvelope,
} from "nodemailer/lib/smtp-connection";
import { inSpan, SpanKind } from "@toolctrl/tracing/spans";
import { toOutcome, type SmtpOutcome } from "./smtp-outcome.ts";

/** Where and how mail leaves. */
export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte. */
  readonly secure: boolean;
  /** STARTTLS: `off` never, `opportunistic` when offered, `required` or not at all. */
  readonly startTls: "off" | "opportunistic" | "required";
  readonly auth: { readonly user: string; readonly pass: string } | null;
}

export interface SmtpMail {
  readonly from: string;
  readonly to: readonly string[];
  /** The message, RFC 5322, as bytes. */
  readonly raw: Buffer;
}

export interface SendOptions {
  readonly signal: AbortSignal;
  readonly beforeSend: () => Promise<void>;
}

/**
 * Sends one mail over a connection of its own. `signal` is the one total limit: on every phase, whatever the server drips.
 * `beforeSend` runs once the server has let us in, right before the mail; when it throws, nothing was sent and its error is thrown on.
 *
 * Never throws otherwise: refusals, silence and lost connections are outcomes.
 */
export function sendMail(server: SmtpServer, mail: SmtpMail, options: SendOptions): Promise<SmtpOutcome> {
  const attributes = { "server.address": server.host, "server.port": server.port, "network.protocol.name": "smtp" };
  return inSpan("SMTP send", { kind: SpanKind.CLIENT, attributes }, async (span) => {
    const outcome = await converse(server, mail, options);
    span.setAttribute("toolctrl.outcome", outcome.kind);
    return outcome;
  });
}

async function converse(server: SmtpServer, mail: SmtpMail, options: SendOptions): Promise<SmtpOutcome> {
  const { signal } = options;
  const connection = openConnection(server);
  try {
    try {
      await step(connection, signal, (done) => connection.connect(done));
      if (server.auth !== null) await step(connection, signal, (done) => connection.login({ credentials: { ...server.auth } }, done));
    } catch (error) {
      return { kind: "unsent", error: toError(error) };
    }
    await options.beforeSend();
    return await transmit(connection, signal, mail);
  } finally {
    endConnection(connection);
  }
}

async function transmit(connection: SMTPConnection, signal: AbortSignal, mail: SmtpMail): Promise<SmtpOutcome> {
  // nodemailer writes the replies to RCPT into this object: on a failure after DATA it is the only place that knows them.
  const envelope: SMTPEnvelope & Partial<SMTPConnectionEnvelope> = { from: mail.from, to: [...mail.to], size: mail.raw.length };
  // Read only after the server's 354; when all of it has been read, the final dot follows and the server may accept.
  const body = Readable.from([mail.raw]);
  let bodyEnded = false;
  body.once("end", () => (bodyEnded = true));
  try {
    const info = await step<SMTPConnectionSendInfo>(connection, signal, (done) => connection.send(envelope, body, done));
    return toOutcome({ kind: "answered", response: info?.response ?? "", envelope }, mail.to);
  } catch (error) {
    return toOutcome({ kind: "failed", error: toError(error), envelope, bodyEnded }, mail.to);
  }
}

function openConnection(server: SmtpServer): SMTPConnection {
  const connection = new SMTPConnection({
    host: server.host,
    port: server.port,
    secure: server.secure,
    ignoreTLS: server.startTls === "off",
    requireTLS: server.startTls === "required",
    // A half-closed socket would wait for a server that drips; the connection is never used again anyway.
    socketCloseTimeout: 0,
    logger: false,
  });
  // Without a listener an error between two steps would end the process; the next step reports it.
  connection.on("error", () => undefined);
  return connection;
}

/** QUIT is politeness: the outcome is known, so nobody waits for its reply. */
function endConnection(connection: SMTPConnection): void {
  if (!connection.destroyed && connection.stage === "connected") connection.quit();
  setTimeout(() => connection.close(), 500).unref();
}

type Done<T> = (error?: Error | null, value?: T) => void;

/** One step of the conversation, ended by its callback, the connection's error or the signal, whichever is first. */
function step<T>(connection: SMTPConnection, signal: AbortSignal, start: (done: Done<T>) => void): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const end = (error: unknown, value?: T): void => {
      connection.off("error", end);
      signal.removeEventListener("abort", abort);
      if (error === null || error === undefined) resolve(value);
      else reject(toError(error));
    };
    const abort = (): void => {
      connection.close();
      end(signal.reason ?? new Error("aborted"));
    };
    if (signal.aborted) return abort();
    connection.once("error", end);
    signal.addEventListener("abort", abort, { once: true });
    start(end);
  });
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
