import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { onTestFinished } from "vitest";
import { createDatabase, type Database, type DatabaseOptions } from "../src/client.ts";

export const TENANT = "tenant-a";

/** A migrated database of its own and a client on it; both end with the test. */
export async function openDatabase(options: Partial<DatabaseOptions> = {}): Promise<Database & { readonly url: string }> {
  const { url, drop } = await createTestDatabase();
  const database = await createDatabase({ url, poolMax: 5, app: "test", wakeup: false, ...options });
  onTestFinished(async () => {
    await database.close(1_000);
    await drop();
  });
  return { ...database, url };
}

/** The rows of a query, as they are. */
export async function rowsOf(database: Database, sql: string, values: unknown[] = []): Promise<Array<Record<string, unknown>>> {
  return (await database.pool.query<Record<string, unknown>>(sql, values)).rows;
}

/** What a promise rejects with; fails when it resolves. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { code?: string; facts?: Record<string, unknown> }> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ("error" in outcome && outcome.error instanceof Error) return outcome.error;
  throw new Error(`expected a rejection, got ${JSON.stringify(outcome)}`);
}

/** A promise and the function that resolves it. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}
