import { once } from "node:events";
import { request, type ClientRequest, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { createApiKey } from "@toolctrl/domain/api-keys";
import type { ChildHandle } from "@toolctrl/testkit/process";
import type { ReceivedMail } from "@toolctrl/testkit/smtp";
import { waitFor } from "@toolctrl/testkit/wait";
import { startApp, type AppName, type Launches } from "./programs-of-image.ts";
import { TENANT, type Servers } from "./servers.ts";

export interface Scene extends Servers {
  readonly launches: Launches;
  readonly webUrl: string;
  readonly say: (line: string) => void;
}

const SECOND_MS = 1000;

export function mailTo(name: string): object {
  return { to: `${name}@example.com`, subject: name, text: name };
}

/** In the middle of a request: it is answered. */
export async function endWeb(scene: Scene, child: ChildHandle): Promise<void> {
  const { key } = await createApiKey(scene.database.pool, { tenantId: TENANT, name: "image-steps" });
  const body = JSON.stringify({ data: { name: "half" } });
  const sending = sendHalf(scene.webUrl, key, body);
  const answered = once(sending, "response") as Promise<[IncomingMessage]>;
  await once(sending, "continue");
  await endBusy(scene, "web", child, async () => {
    sending.end(body.slice(5));
    const [response] = await answered;
    const answer = await text(response);
    if (response.statusCode !== 201) throw new Error(`expected the request to be answered with 201, got ${response.statusCode}: ${answer}`);
  });
  scene.say("web, told to end in the middle of a request, answered it");
}

/** Sends the head of a request and the first bytes of its body; `continue` says that it is being served. */
function sendHalf(webUrl: string, key: string, body: string): ClientRequest {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", "content-length": String(body.length) };
  const sending = request(`${webUrl}/api/tables/orders/rows`, { method: "POST", headers: { ...headers, expect: "100-continue" } });
  sending.flushHeaders();
  sending.write(body.slice(0, 5));
  return sending;
}

/** In the middle of a mail that takes three seconds: it goes out once, and the next mail waits for the next worker. */
export async function endMail(scene: Scene, child: ChildHandle): Promise<void> {
  const { launches, publish, smtp } = scene;
  smtp.setBehaviour({ kind: "drip", pauseMs: 15 });
  const before = smtp.mails.length;
  const sent = (): string => smtp.mails.slice(before).map(subjectOf).join();
  await publish("mail.message.send", mailTo("second"));
  await waitFor(() => smtp.connections() > 0, { what: "the mail to be on its way", timeoutMs: 30 * SECOND_MS });
  await endBusy(scene, "worker-mail", child, async () => void (await publish("mail.message.send", mailTo("third"))));
  if (sent() !== "second") throw new Error(`expected the ending worker to send the second mail alone, got ${sent() || "none"}`);
  smtp.setBehaviour({ kind: "accept" });
  const next = await startApp(launches, "worker-mail");
  await waitFor(() => sent() === "second,third", { what: "the next worker to send the third mail, once each", timeoutMs: 10 * SECOND_MS });
  scene.say("worker-mail, told to end in the middle of a mail, sent it and took no other; the next worker sent that at once");
  await endBusy(scene, "worker-mail", next, () => Promise.resolve());
}

/** In the middle of a call that a plugin answers late: the call is finished, and the next event stays where it is for the next worker. */
export async function endGeneral(scene: Scene, child: ChildHandle): Promise<void> {
  const { launches, publish, http, database } = scene;
  const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>();
  http.respond(async () => (await mayAnswer, { status: 200 }));
  const before = http.requests.length;
  await publish("plugin.hook.fired", { n: 2 });
  await http.nextRequest();
  let left = "";
  await endBusy(scene, "worker-general", child, async () => {
    left = await publish("plugin.hook.fired", { n: 3 });
    answer();
  });
  const { rows } = await database.pool.query<{ id: string; status: string; attempts: number }>(
    `SELECT "id", "status", "attempts" FROM "OutboxEvent" WHERE "status" IN ('PENDING', 'PROCESSING')`,
  );
  const expected = JSON.stringify([{ id: left, status: "PENDING", attempts: 0 }]);
  if (JSON.stringify(rows) !== expected)
    throw new Error(`expected ${expected} to be left and nothing claimed, got ${JSON.stringify(rows)}`);
  const next = await startApp(launches, "worker-general");
  await waitFor(() => http.requests.length === before + 2, {
    what: "the next worker to make the third call, and none twice",
    timeoutMs: 10 * SECOND_MS,
  });
  scene.say(
    "worker-general, told to end in the middle of a call, finished it and claimed nothing more; the next worker took the rest at once",
  );
  await endBusy(scene, "worker-general", next, () => Promise.resolve());
}

/**
 * Tells a program to end, by SIGTERM to its first process alone, and lets what it is busy with end by `finish`. It has to end with 0 by
 * itself within its grace period, and to leave nobody behind.
 */
async function endBusy({ launches, say }: Scene, name: AppName, child: ChildHandle, finish: () => Promise<void>): Promise<void> {
  const { stop_grace_period: graceMs = 0 } = launches[name].service;
  child.kill("SIGTERM");
  await child.waitForLine(/"msg":"stopping"/);
  await finish();
  const { code, signal } = await child.waitForExit({ timeoutMs: graceMs });
  if (code !== 0) throw new Error(`expected ${name} to end with 0, got ${signal ?? code}:\n${child.lines().slice(-20).join("\n")}`);
  if (child.groupAlive()) throw new Error(`expected ${name} to leave no process behind, it did`);
  say(`${name} ended with 0 after SIGTERM`);
}

function subjectOf({ headers }: ReceivedMail): string {
  return headers["subject"] ?? "";
}
