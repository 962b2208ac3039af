import { createHash } from "node:crypto";

/** The longest part of a call that is looked at for its description, in bytes. */
const LOOKED_AT_BYTES = 4096;
const LONGEST_MESSAGE = 2 ** 28;
const SHOWN_CHARACTERS = 160;
const SHOWN_COMMANDS = 20;
const [ASTERISK, DOLLAR] = [0x2a, 0x24];

// What a connection says to come into being or to end is no call: it has no effect a crash could leave half done.
const REDIS_HANDSHAKE = /^(HELLO|AUTH|INFO|SELECT|QUIT|CLIENT (SETNAME|SETINFO|ID|NO-EVICT))\b/i;

/**
 * What one socket write asks of the other side, in words: the SQL text, the Redis command with its keys, the first line of anything else.
 * Null for the handshakes of PostgreSQL and Redis.
 */
export function describeCall(label: string, bytes: Buffer): string | null {
  const words = describeBytes(bytes);
  return words === null ? null : `${label}: ${words.replaceAll(/\s+/g, " ").trim().slice(0, SHOWN_CHARACTERS)}`.trim();
}

function describeBytes(bytes: Buffer): string | null {
  if (bytes[0] === ASTERISK) {
    const commands = redisCommands(bytes).filter((command) => !REDIS_HANDSHAKE.test(command));
    return commands.length === 0 ? null : commands.join("; ");
  }
  const head = bytes.subarray(0, LOOKED_AT_BYTES);
  const sql = postgresMessages(head);
  if (sql !== undefined) return sql;
  return head.toString("latin1").split(/\r?\n/, 1)[0] ?? "";
}

/** The commands of one write, in words. A script is named by its SHA-1, whether it is sent whole or by that. */
function redisCommands(bytes: Buffer): string[] {
  const commands: string[] = [];
  let at = 0;
  /** Reads `<type><number>\r\n` and returns the number; NaN where the bytes end or are something else. */
  const readNumber = (type: number): number => {
    const end = bytes.indexOf("\r\n", at);
    if (bytes[at] !== type || end === -1) return Number.NaN;
    const value = Number(bytes.toString("latin1", at + 1, end));
    at = end + 2;
    return value;
  };
  while (at < bytes.length && commands.length < SHOWN_COMMANDS) {
    const count = readNumber(ASTERISK);
    const words: string[] = [];
    while (words.length < count) {
      const length = readNumber(DOLLAR);
      if (Number.isNaN(length)) break;
      const isScript = words.length === 1 && /^eval$/i.test(words[0] ?? "");
      const word = bytes.subarray(at, at + length);
      words.push(isScript ? createHash("sha1").update(word).digest("hex") : word.toString("latin1", 0, SHOWN_CHARACTERS));
      at += length + 2;
    }
    if (words.length === 0) break;
    commands.push(words.join(" "));
  }
  return commands;
}

/** The SQL in a run of protocol messages; null for a handshake or a farewell, undefined for what is no such run. */
function postgresMessages(head: Buffer): string | null | undefined {
  // A start-up, SSL or cancel request has no type: its length comes first, then a code.
  if (head.length >= 8 && head[0] === 0 && head.readInt32BE(0) >= 8 && [3, 1234].includes(head.readInt16BE(4))) return null;
  const texts: string[] = [];
  const types = new Set<string>();
  for (let at = 0; at < head.length;) {
    const type = String.fromCharCode(head[at] ?? 0);
    const length = at + 5 <= head.length ? head.readInt32BE(at + 1) : -1;
    // The length of text such as "POST /" would be beyond any message's.
    if (!"QPBDESCHXpdcf".includes(type) || length < 4 || length > LONGEST_MESSAGE) return at > 0 ? nameOf(texts, types) : undefined;
    types.add(type);
    const body = head.subarray(at + 5, at + 1 + length).toString("utf8");
    if (type === "Q") texts.push(body.replace("\0", ""));
    // Parse: the statement's name, its text; Bind: the portal's name, the name of a statement parsed before.
    if (type === "P") texts.push(body.split("\0")[1] ?? "");
    if (type === "B" && !types.has("P")) texts.push(`prepared ${body.split("\0")[1] ?? ""}`);
    at += 1 + length;
  }
  return types.size > 0 ? nameOf(texts, types) : undefined;
}

function nameOf(texts: string[], types: Set<string>): string | null {
  if (texts.length > 0) return texts.join("; ");
  return types.has("X") || types.has("p") ? null : `messages ${[...types].join("")}`;
}
