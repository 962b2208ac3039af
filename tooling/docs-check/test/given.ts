import { createDatabase, type Database } from "@toolctrl/db/client";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { onTestFinished, vi } from "vitest";

/** A migrated database of the test's own. */
export async function openDatabase(): Promise<{ readonly database: Database; readonly url: string }> {
  const { url } = await createTestDatabase();
  const database = await createDatabase({ url, poolMax: 8, app: "test", wakeup: false });
  onTestFinished(() => database.close());
  return { database, url };
}

/** Gives examples what they take for granted, by its names, for as long as the test lasts. */
export function give(names: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(names)) vi.stubGlobal(name, value);
  onTestFinished(() => void vi.unstubAllGlobals());
}
