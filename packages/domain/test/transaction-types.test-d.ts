import type { Prisma, PrismaClient } from "@toolctrl/db/client";
import { expectTypeOf, test } from "vitest";
import type { publishApplicationEvent } from "../src/events-service.ts";
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
  | typeof submitForm
  | typeof publishApplicationEvent;
type Client = Parameters<Writer>[0];

test("what writes rows, leads, forms and application events takes the client of a transaction, not the root client", () => {
  expectTypeOf<Prisma.TransactionClient>().toExtend<Client>();
  expectTypeOf<PrismaClient>().not.toExtend<Client>();
});
