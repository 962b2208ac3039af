// Mostly waits: for masters that begin, and for a replica to be promoted.
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { readRedisUrl } from "@toolctrl/foundation/redis-url";
import { askRedis } from "@toolctrl/testkit/ask-redis";
import { startRedisCluster, type RedisCluster, type RedisClusterOptions } from "@toolctrl/testkit/redis-cluster";
import { waitFor } from "@toolctrl/testkit/wait";
import { generate } from "selfsigned";
import { expect, onTestFinished, test } from "vitest";
import { connectRedis, type RedisConnection } from "../src/client.ts";

const KEY = "{a}:probe";

async function openCluster(options: RedisClusterOptions): Promise<RedisCluster> {
  const cluster = await startRedisCluster(options);
  onTestFinished(() => cluster.close());
  return cluster;
}

function open(url: string, waits: boolean): RedisConnection {
  const address = readRedisUrl(url);
  if (address.kind === "wrong") throw new Error(address.problem);
  const connection = connectRedis(address, {
    connection: { socketTimeout: 15_000, ...(waits ? { maxRetriesPerRequest: null } : { commandTimeout: 1000, maxRetriesPerRequest: 0 }) },
    reconnectAfterMs: () => 50,
    waits,
    key: KEY,
    following: waits ? { redirections: 64, retryMs: 250 } : { redirections: 3, retryMs: 0 },
  });
  const { client } = connection;
  client.on("error", () => undefined);
  client.on("node error", () => undefined);
  onTestFinished(() => client.disconnect());
  return connection;
}

/** Until the test is over, or it goes on before. */
function hang(pid: number): void {
  process.kill(pid, "SIGSTOP");
  onTestFinished(() => void process.kill(pid, "SIGCONT"));
}

async function untilUsable({ client, usableEvent, isUsable }: RedisConnection): Promise<void> {
  if (!isUsable()) await once(client, usableEvent, { signal: AbortSignal.timeout(30_000) });
}

test("a node that hangs, and has other keys, does not make a cluster unusable", async () => {
  const cluster = await openCluster({ args: ["--cluster-require-full-coverage", "no"] });
  const { master } = await cluster.ownerOf(KEY);
  await askRedis(master.url, "SET", KEY, "1");
  const hanging = cluster.nodes.find((node) => node !== master);
  if (hanging === undefined) throw new Error("expected another master");
  hang(hanging.pid);
  const connection = open(cluster.url, false);
  await untilUsable(connection);
  expect(await connection.client.get(KEY)).toBe("1");
  expect(connection.isUsable()).toBe(true);
  await master.kill();
  await waitFor(() => !connection.isUsable(), { timeoutMs: 10_000, what: "the loss of the key's own node to show" });
});

test("a client whose node is lost while the others do not answer goes on by itself when they do, without a command that asks", async () => {
  const cluster = await openCluster({});
  const { master } = await cluster.ownerOf(KEY);
  const others = cluster.nodes.filter((node) => node !== master);
  const connection = open(cluster.url, false);
  await untilUsable(connection);
  let unanswered = 0;
  for (const { pid } of others) hang(pid);
  connection.client.on("node error", (error: Error) => (unanswered += error.message === "timeout" ? 1 : 0));
  await master.kill();
  await waitFor(() => unanswered >= others.length, { timeoutMs: 20_000, what: "no node to answer where the slots are" });
  expect(connection.isUsable()).toBe(false);
  for (const { pid } of others) process.kill(pid, "SIGCONT");
  await master.start();
  await untilUsable(connection);
});

test("with TLS each node is spoken to by its name, which its certificate is for, and one of another name is not trusted", async () => {
  const folder = await mkdtemp(join(tmpdir(), "toolctrl-tls-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { cert, private: key } = await generate([{ name: "commonName", value: "localhost" }], {
    algorithm: "sha256",
    extensions: [{ name: "subjectAltName", altNames: [{ type: 2, value: "localhost" }] }],
  });
  const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  await Promise.all([writeFile(certFile, cert), writeFile(keyFile, key)]);
  const before = getCACertificates("default");
  setDefaultCACertificates([...before, cert]);
  onTestFinished(() => setDefaultCACertificates(before));
  const cluster = await openCluster({ tls: { certFile, keyFile } });
  await askRedis((await cluster.ownerOf(KEY)).master.url, "SET", KEY, "1");
  const connection = open(cluster.url, false);
  await untilUsable(connection);
  expect(await connection.client.get(KEY)).toBe("1");
  const errors: string[] = [];
  const elsewhere = open(cluster.url.replaceAll("localhost", "127.0.0.1"), false);
  elsewhere.client.on("node error", (error: Error) => errors.push(error.message));
  await waitFor(() => errors.length > 0, { what: "the certificate to be refused" });
  expect(errors[0]).toContain("does not match certificate's altnames");
  expect(elsewhere.isUsable()).toBe(false);
});

test("a client goes on by itself on the replica that was promoted when the key's master died", async () => {
  const cluster = await openCluster({ replicas: true });
  const { master, replica } = await cluster.ownerOf(KEY);
  await askRedis(master.url, "SET", KEY, "1");
  const [failing, waiting] = [open(cluster.url, false), open(cluster.url, true)];
  await Promise.all([failing, waiting].map(untilUsable));
  await master.kill();
  await waitFor(() => !failing.isUsable(), { timeoutMs: 10_000, what: "the loss of the master to show" });
  await expect(failing.client.get(KEY)).rejects.toThrow(/connection|cluster/i);
  const answer = waiting.client.get(KEY);
  await untilUsable(failing);
  expect(await failing.client.set(KEY, "2")).toBe("OK");
  expect(["1", "2"]).toContain(await answer);
  expect(String(await askRedis(replica?.url ?? "", "ROLE"))).toMatch(/^master/);
});

test("a client of one server leaves a cluster's node that has lost its keys: a new connection may lead to the one that has them", async () => {
  const cluster = await openCluster({});
  const { master } = await cluster.ownerOf(KEY);
  const elsewhere = cluster.nodes.find((node) => node !== master);
  const connection = open(elsewhere?.url ?? "", false);
  await untilUsable(connection);
  const left = once(connection.client, "close", { signal: AbortSignal.timeout(10_000) });
  await expect(connection.client.set(KEY, "1")).rejects.toThrow(/^MOVED /);
  await left;
  await untilUsable(connection);
});
