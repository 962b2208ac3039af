import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { pathToFileURL } from "node:url";
import { createDatabase, transaction, type Database } from "@toolctrl/db/client";
import { publishOutboxEvent } from "@toolctrl/db/outbox";
import { appendAuditEntry, canonicalJson } from "@toolctrl/domain/audit";
import { startRedis, type RedisServer } from "@toolctrl/testkit/redis-server";
import { createEmptyDatabase } from "@toolctrl/testkit/template-db";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { commandsOf, NOT_RUN, RUN_ELSEWHERE, wordsOf } from "../src/commands.ts";
import { listPages, readText, ROOT } from "../src/repository.ts";
import { documentedWorkflow, readRun, startRunForCommand } from "./run-for-command.ts";

/** Runs the CLI in this process, as its own main file does, without a terminal; the consumer map counts as proven. */
async function runCli(args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const cli = (await import(pathToFileURL(join(ROOT, "apps/cli/src/run-cli.ts")).href)) as {
    runCli(args: readonly string[], io: object, parts: object): Promise<number>;
  };
  const proveMap = () => Promise.resolve({ proven: true, reasons: [], proofs: [] });
  const [out, err] = [new PassThrough(), new PassThrough()];
  const code = await cli.runCli(args, { out, err, in: process.stdin, canAsk: false }, { proveMap });
  return { code, out: String(out.read() ?? ""), err: String(err.read() ?? "") };
}

const documented = listPages().flatMap(commandsOf);
const commands = [...new Map(documented.map((entry) => [entry.command, entry])).values()];
const CLI = "pnpm toolctrl-cli ";
const operated = commands.filter(({ command }) => command.startsWith(CLI) && !Object.hasOwn(RUN_ELSEWHERE, command));
const aboutRuns = operated.filter(({ command }) => command.startsWith(`${CLI}workflow `));

describe("every command of README, CONTRIBUTING and the pages of docs/", () => {
  test("is run by a test, or there is a reason why it is not", () => {
    const unknown = commands.filter((entry) => {
      const known = [RUN_ELSEWHERE, NOT_RUN].some((list) => Object.hasOwn(list, entry.command));
      return !known && !operated.includes(entry);
    });
    expect(unknown).toEqual([]);
    expect(operated.length).toBeGreaterThan(12);
  });

  test("that is said to be run elsewhere, or not to be run, is on a page", () => {
    const shown = new Set(commands.map(({ command }) => command));
    const prose = listPages().map(readText).join("\n");
    const listed = [...Object.keys(RUN_ELSEWHERE), ...Object.keys(NOT_RUN)];
    expect(listed.filter((command) => !shown.has(command) && !prose.includes(`\`${command}\``))).toEqual([]);
  });

  test.each(Object.entries(RUN_ELSEWHERE))("`%s` is run by the test that is named for it", (_command, { file, title }) => {
    expect(readText(file)).toContain(title);
  });

  test("that begins with pnpm is a script of the repository, also where it stands in a sentence", () => {
    const { scripts } = JSON.parse(readText("package.json")) as { scripts: Record<string, string> };
    expect(scripts["toolctrl-cli"]).toBe("node --conditions=source apps/cli/src/main.ts");
    const inProse = listPages().flatMap((path) =>
      [...readText(path).matchAll(/`pnpm (?:run )?([a-z][\w:-]*)/g)].map(([, name = ""]) => ({ path, name })),
    );
    expect(inProse.length).toBeGreaterThan(10);
    expect(inProse.filter(({ name }) => name !== "exec" && !Object.hasOwn(scripts, name))).toEqual([]);
  });
});

describe("every command of the CLI on these pages does what it is there for", () => {
  let database: Database;
  let redis: RedisServer;
  let folder: string;

  beforeAll(async () => {
    const { url } = await createEmptyDatabase();
    // One that a gate can be green with.
    redis = await startRedis({ args: ["--appendonly", "yes"] });
    vi.stubEnv("DATABASE_URL", url);
    vi.stubEnv("REDIS_URL", redis.url);
    await runCli(["db", "migrate"]);
    database = await createDatabase({ url, poolMax: 2, app: "test", wakeup: false });
    const entry = { tenantId: "acme", eventId: randomUUID(), effectEpoch: 0, entryJson: canonicalJson({ action: "signed-in" }) };
    await transaction(database.pool, (tx) => appendAuditEntry(tx, entry));
    folder = await mkdtemp(join(tmpdir(), "documented-workflow-"));
    await writeFile(join(folder, "approval.json"), documentedWorkflow());
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true });
    await database.close();
    await redis.close();
  });

  /** A mail event in the state that the command is for. */
  async function publishFor(command: string): Promise<string> {
    const payload = { to: "ann@example.com", subject: "Hello", text: "Hello" };
    const { id } = await database.prisma.$transaction((tx) =>
      publishOutboxEvent(tx, { tenantId: "acme", type: "mail.message.send", payload }),
    );
    const [, status = "FAILED"] = / outbox (?:cancel|show)/.test(command) ? ["", "PENDING"] : (/--status (\w+)/.exec(command) ?? []);
    await database.pool.query(
      `UPDATE "OutboxEvent" SET "status" = $2::"OutboxStatus", "blocksLine" = $2 = 'PENDING' OR $3, "updatedAt" = clock_timestamp(),
         "lastErrorCode" = CASE WHEN $2 = 'FAILED' THEN 'QUEUE.REJECTED' END, "lastError" = CASE WHEN $2 = 'FAILED' THEN 'refused' END,
         "processedAt" = CASE WHEN $2 = 'DONE' THEN clock_timestamp() END WHERE "id" = $1::uuid`,
      [id, status, command.includes(" outbox skip ")],
    );
    return id;
  }

  async function statusOf(id: string): Promise<string | undefined> {
    const { rows } = await database.pool.query<{ status: string }>(`SELECT "status" FROM "OutboxEvent" WHERE "id" = $1::uuid`, [id]);
    return rows[0]?.status;
  }

  test.each(operated.filter((entry) => !aboutRuns.includes(entry)))("$path:$line $command", async ({ command }) => {
    const id = await publishFor(command);
    const before = await statusOf(id);
    const args = wordsOf(command.slice(CLI.length)).map((word) => (word === "<id>" ? id : word));
    const { code, out, err } = await runCli(args);
    expect(code, err).toBe(0);
    expect(out).not.toBe("");
    const acts = / outbox (?:requeue|cancel) /.test(command) && !command.includes("--dry-run");
    expect(await statusOf(id)).toBe(!acts ? before : command.includes(" cancel ") ? "CANCELLED" : "PENDING");
  });

  test.each(aboutRuns)("$path:$line $command", async ({ command }) => {
    const verb = command.slice(CLI.length).split(" ")[1] ?? "";
    const { workflow, run, question } = await startRunForCommand(database, verb === "retry");
    const before = await readRun(database, run);
    const known: Record<string, string> = {
      "<workflow>": workflow,
      "<run>": run,
      "<question>": question,
      "approval.json": join(folder, "approval.json"),
    };
    const { code, out, err } = await runCli(wordsOf(command.slice(CLI.length)).map((word) => known[word] ?? word));
    expect(code, err).toBe(0);
    expect(out).not.toBe("");
    const after: Record<string, Awaited<ReturnType<typeof readRun>>> = {
      continue: { status: "waiting", question: "submitted" },
      cancel: { status: "cancelled", question: "cancelled" },
      retry: { status: "running", question: "submitted" },
    };
    expect(await readRun(database, run)).toEqual(after[verb] ?? before);
  });

  test("the guides name each command about workflow runs", () => {
    const verbs = new Set(aboutRuns.map(({ command }) => command.slice(CLI.length).split(" ")[1]));
    expect(verbs).toEqual(new Set(["validate", "list", "run", "show", "continue", "cancel", "retry"]));
  });
});
