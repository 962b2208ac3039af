import type { Prisma } from "@toolctrl/db/client";

/** The client of an interactive transaction. The root client does not fit: what it writes would be there without its event. */
export type TransactionClient = Prisma.TransactionClient & { readonly $connect?: never };
