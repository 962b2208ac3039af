import type { Prisma, PrismaClient } from "@toolctrl/db/client";
import { expectTypeOf, test } from "vitest";
import type { createForm, submitForm, updateForm } from "../src/forms.ts";
import type { convertLead, createLead, findOrCreateLead } from "../src/leads.ts";
import type { rowCreate, rowDelete, rowUpdate } from "../src/rows.ts";

type Writer =
  | typeof rowCreate
  | typeof rowUpdate
  | typeof rowDelete
  | typeof convertLead
  | typeof createLead
  | typeof findOrCreateLead
  | typeof createForm
  | typeof updateForm
  | typeof submitForm;
type Client = Parameters<Writer>[0];

test("what writes rows, leads and forms takes the client of a transaction, not the root client", () => {
  expectTypeOf<Prisma.TransactionClient>().toExtend<Client>();
  expectTypeOf<PrismaClient>().not.toExtend<Client>();
});
