import type { Prisma, PrismaClient } from "@toolctrl/db/client";
import { expectTypeOf, test } from "vitest";
import type { convertLead, createLead } from "../src/leads.ts";
import type { rowCreate, rowDelete, rowUpdate } from "../src/rows.ts";

type Client = Parameters<typeof rowCreate | typeof rowUpdate | typeof rowDelete | typeof convertLead | typeof createLead>[0];

test("what writes rows and leads takes the client of a transaction, not the root client", () => {
  expectTypeOf<Prisma.TransactionClient>().toExtend<Client>();
  expectTypeOf<PrismaClient>().not.toExtend<Client>();
});
