import { migrate } from "@toolctrl/db/migrate";
import type { Command } from "commander";
import type { Registrar } from "../command.ts";
import { readCliEnv } from "../env.ts";
import { EXIT } from "../exit-codes.ts";
import { count } from "../output/format-values.ts";
import { writeResult } from "../output/write-result.ts";
import { cliLogger } from "../resources.ts";

/** `db migrate`: applies what is missing and verifies the tables. Safe when several run it at once. */
export function registerDbMigrate(parent: Command, registrar: Registrar): void {
  const command = parent
    .command("migrate")
    .description("apply the migrations that are missing, then verify the tables (several may run it at once)");
  registrar.handle(command, async ({ io, json }) => {
    const env = readCliEnv();
    const result = await migrate({ url: env.DATABASE_DIRECT_URL ?? env.DATABASE_URL, log: cliLogger(io, env.LOG_LEVEL) });
    writeResult(io, json, result, () => {
      if (result.applied.length === 0) return "Nothing to apply: the tables are up to date.";
      return [`Applied ${count(result.applied.length, "migration")}:`, ...result.applied.map((name) => `  ${name}`)].join("\n");
    });
    return EXIT.ok;
  });
}
