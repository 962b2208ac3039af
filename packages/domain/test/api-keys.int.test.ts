import { transaction } from "@toolctrl/db/client";
import { expect, test } from "vitest";
import { createApiKey, findApiKey, revokeApiKey } from "../src/api-keys.ts";
import { openDatabase, rowsOf, TENANT } from "./support.ts";

test("a key finds its tenant, and nothing that is kept tells the key", async () => {
  const database = await openDatabase();
  const { id, key } = await transaction(database.pool, (tx) => createApiKey(tx, { tenantId: TENANT, name: "ci" }));
  expect(key).toMatch(/^tck_[\w-]{43}$/);
  expect(await findApiKey(database.pool, key)).toEqual({ id, tenantId: TENANT, name: "ci" });
  for (const other of ["", "tck_", key.slice(0, -1), key.toUpperCase()]) expect(await findApiKey(database.pool, other)).toBeNull();
  expect(JSON.stringify(await rowsOf(database, `SELECT * FROM "ApiKey"`))).not.toContain(key.slice(4));
});

test("a key that its tenant has revoked finds nobody; another tenant cannot revoke it", async () => {
  const database = await openDatabase();
  const { pool } = database;
  const { id, key } = await createApiKey(pool, { tenantId: TENANT, name: "ci" });
  expect(await revokeApiKey(pool, { tenantId: "other", id })).toBe(false);
  expect(await findApiKey(pool, key)).toMatchObject({ id });
  expect(await revokeApiKey(pool, { tenantId: TENANT, id })).toBe(true);
  expect(await findApiKey(pool, key)).toBeNull();
  expect(await revokeApiKey(pool, { tenantId: TENANT, id })).toBe(false);
});

test.each([
  ["an empty name", { name: "" }],
  ["a name of more than 100 characters", { name: "n".repeat(101) }],
  ["a name with U+0000", { name: "a\u0000" }],
  ["an empty tenant", { tenantId: "" }],
])("%s is refused", async (_what, wrong) => {
  const { pool } = await openDatabase();
  await expect(createApiKey(pool, { tenantId: TENANT, name: "ci", ...wrong })).rejects.toMatchObject({ code: "API.ARGUMENT" });
});
