// Makes the tables: the platform's own, then the shop's. It may run again and again, as with each release.
import { createDatabase } from "@toolctrl/db/client";
import { migrate } from "@toolctrl/db/migrate";

const { DATABASE_URL: url } = process.env;
if (url === undefined) throw new Error("expected DATABASE_URL to be set, got nothing");

await migrate({ url });
const database = await createDatabase({ url, poolMax: 1, app: "shop-migrate" });
await database.pool.query(`
  CREATE TABLE IF NOT EXISTS "ShopOrder" ("id" int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "item" text NOT NULL);
  CREATE TABLE IF NOT EXISTS "ShopMessage" ("id" int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "orderId" int NOT NULL, "text" text NOT NULL);
`);
await database.close();
