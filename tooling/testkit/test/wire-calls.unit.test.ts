import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { describeCall } from "../src/wire-calls.ts";

function resp(...words: string[]): Buffer {
  return Buffer.from(`*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`);
}

function message(type: string, body: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(Buffer.byteLength(body) + 4);
  return Buffer.concat([Buffer.from(type), length, Buffer.from(body)]);
}

test("Redis commands are named with their arguments, pipelined ones each", () => {
  expect(describeCall("redis", resp("SET", "a", "$1\r\nodd é"))).toBe("redis: SET a $1 odd Ã©");
  expect(describeCall("redis", Buffer.concat([resp("SET", "a", "1"), resp("GET", "b")]))).toBe("redis: SET a 1; GET b");
});

test("a script has one name, sent whole or by its digest", () => {
  const script = `return '${"x".repeat(10_000)}'`;
  const digest = createHash("sha1").update(script).digest("hex");
  expect(describeCall("redis", resp("EVAL", script, "1", "key"))).toBe(`redis: EVAL ${digest} 1 key`);
  expect(describeCall("redis", resp("EVALSHA", digest, "1", "key"))).toBe(`redis: EVALSHA ${digest} 1 key`);
});

test("handshakes are no calls", () => {
  expect(describeCall("redis", resp("HELLO", "3"))).toBe(null);
  expect(describeCall("redis", Buffer.concat([resp("client", "SETNAME", "x"), resp("INFO")]))).toBe(null);
  const startup = Buffer.alloc(16);
  startup.writeInt32BE(16);
  startup.writeInt16BE(3, 4);
  expect(describeCall("sql", startup)).toBe(null);
  const ssl = Buffer.alloc(8);
  ssl.writeInt32BE(8);
  ssl.writeInt32BE(80_877_103, 4);
  expect(describeCall("sql", ssl)).toBe(null);
  expect(describeCall("sql", message("p", "SCRAM-SHA-256\0"))).toBe(null);
  expect(describeCall("sql", message("X", ""))).toBe(null);
});

test("SQL is named by its text, a statement prepared before by its name", () => {
  expect(describeCall("sql", message("Q", "BEGIN\0"))).toBe("sql: BEGIN");
  const extended = [message("P", "\0SELECT\n  $1\0\0\0"), message("B", "\0\0\0\0"), message("E", "\0\0\0\0\0"), message("S", "")];
  expect(describeCall("sql", Buffer.concat(extended))).toBe("sql: SELECT $1");
  expect(describeCall("sql", Buffer.concat([message("B", "\0named\0\0\0"), message("S", "")]))).toBe("sql: prepared named");
});

test("anything else is named by its first line", () => {
  expect(describeCall("http", Buffer.from("POST /hook HTTP/1.1\r\nhost: a\r\n\r\nbody"))).toBe("http: POST /hook HTTP/1.1");
  expect(describeCall("smtp", Buffer.from("DATA\r\n"))).toBe("smtp: DATA");
  expect(describeCall("smtp", Buffer.from("EHLO test\r\n"))).toBe("smtp: EHLO test");
  expect(describeCall("smtp", Buffer.alloc(0))).toBe("smtp:");
});
