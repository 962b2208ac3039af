import { z } from "zod";

/** Twelve digits before the point and twelve after it, as the ledger's column holds them. */
const AMOUNT = /^-?(?:0|[1-9]\d{0,11})(?:\.\d{1,12})?$/;
const FIRST_DAY = Date.parse("2000-01-01T00:00:00Z");
const LAST_DAY = Date.parse("2199-12-31T23:59:59Z");

const tokens = z.int().min(0).max(1_000_000_000).default(0);

/** What one call of a model cost; consumed by `ai-cost-record`. */
export const aiCostRecordedSchema = z
  .strictObject({
    model: z.string().min(1).max(200).describe("Whose cost it is, for example `openai/gpt-x`"),
    amount: z
      .string()
      .regex(AMOUNT)
      .describe("An exact decimal as text, `0.000125`: at most 12 digits before the point and 12 after it; negative takes back"),
    currency: z
      .string()
      .regex(/^[A-Z]{3}$/)
      .describe("ISO 4217, `EUR`; sums are kept apart by currency"),
    inputTokens: tokens.describe("Tokens read, at most 10⁹"),
    outputTokens: tokens.describe("Tokens written, at most 10⁹"),
    recordedAt: z.iso
      .datetime({ offset: true })
      .refine((time) => Date.parse(time) >= FIRST_DAY && Date.parse(time) <= LAST_DAY, { error: "expected a time from 2000 to 2199" })
      .optional()
      .describe("When it was spent, ISO 8601 with a zone; without it the event's own time. Its day in UTC is the day of the sums"),
  })
  .describe("What a call of a model cost: an entry of the append-only ledger.");
