import { migrationStatus, type MigrationStatus } from "@toolctrl/db/migrate";
import type { Command } from "commander";
import type { Registrar } from "../command.ts";
import { readCliEnv } from "../env.ts";
import { EXIT } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import { facts } from "../output/table.ts";
import { writeResult } from "../output/write-result.ts";

/** `db status`: which migrations are there, and whether the tables are what they make. Ends with 1 when something is missing. */
export function registerDbStatus(parent: Command, registrar: Registrar): void {
  const command = parent.command("status").description("compare the database with the migrations; exit code 1 when it is not up to date");
  registrar.handle(command, async ({ io, json }) => {
    const env = readCliEnv();
    const status = await migrationStatus({ url: env.DATABASE_DIRECT_URL ?? env.DATABASE_URL });
    const upToDate = [status.pending, status.failed, status.edited, status.schemaProblems].every((list) => list.length === 0);
    writeResult(io, json, { upToDate, ...status }, () => describe(io, status, upToDate));
    return upToDate ? EXIT.ok : EXIT.failure;
  });
}

function describe(io: Io, status: MigrationStatus, upToDate: boolean): string {
  const rows = Object.entries(status).flatMap(([name, list]: [string, string[]]) =>
    list.length === 0 ? [] : [[name, list.join("\n")] as const],
  );
  const table = facts(
    io,
    rows.flatMap(([name, text]) => text.split("\n").map((line, index) => [index === 0 ? name : "", line] as const)),
  );
  const verdict = upToDate ? "Up to date." : "Not up to date: run `toolctrl-cli db migrate`, or read what differs above.";
  return rows.length === 0 ? verdict : `${table}\n\n${verdict}`;
}
