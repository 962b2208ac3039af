import type { z } from "zod";
import type { BlockId } from "./block-ids.ts";
import { ifConfigSchema, switchConfigSchema } from "./configs/conditions.ts";
import { emailConfigSchema } from "./configs/email.ts";
import { httpRequestConfigSchema } from "./configs/http-request.ts";
import { rowCreateConfigSchema, rowDeleteConfigSchema, rowUpdateConfigSchema } from "./configs/rows.ts";
import { waitForInputConfigSchema } from "./configs/wait-for-input.ts";

/** The schema of each block's configuration. */
export const blockConfigSchemas = {
  email: emailConfigSchema,
  httpRequest: httpRequestConfigSchema,
  if: ifConfigSchema,
  switch: switchConfigSchema,
  rowCreate: rowCreateConfigSchema,
  rowUpdate: rowUpdateConfigSchema,
  rowDelete: rowDeleteConfigSchema,
  waitForInput: waitForInputConfigSchema,
} as const satisfies Record<BlockId, z.ZodType>;

/** A block's configuration as a definition keeps it; what was left out is filled in. */
export type BlockConfig<Id extends BlockId> = z.output<(typeof blockConfigSchemas)[Id]>;
