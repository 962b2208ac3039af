import { migrationStatus } from "@toolctrl/db/migrate";
import { fail, ok, warn, type Check, type Finding } from "../check.ts";

/** Every migration of this version is applied, whole, and as it was written. */
export function createMigrationsCheck(url: string): Check {
  return { name: "migrations", look: () => lookAt(url) };
}

async function lookAt(url: string): Promise<Finding> {
  const { applied, pending, failed, edited, unknown } = await migrationStatus({ url });
  if (failed.length > 0)
    return fail(`expected every migration to have ended, got ${failed.join(", ")} begun`, "run `toolctrl-cli db migrate`");
  if (pending.length > 0)
    return fail(
      `expected every migration to be applied, got ${pending.length} that are not: ${shown(pending)}`,
      "run `toolctrl-cli db migrate`",
    );
  if (edited.length > 0)
    return fail(
      `expected migrations as they were applied, got others: ${shown(edited)}`,
      "restore the files of the migrations: what is applied is never edited",
    );
  if (unknown.length > 0)
    return warn(`expected no migration that this version does not know, got ${shown(unknown)}`, "use the CLI of the version that runs");
  return ok(`${applied.length} applied`);
}

function shown(names: readonly string[]): string {
  const rest = names.length - 3;
  return rest > 0 ? `${names.slice(0, 3).join(", ")} and ${rest} more` : names.join(", ");
}
