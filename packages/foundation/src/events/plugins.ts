import { z } from "zod";

/** The name of a plugin, of one of its functions, or of a capability: it stands in keys, job names and logs. */
export const pluginNameSchema = z
  .string()
  .max(100)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, "expected letters, digits, dots, hyphens and underscores, beginning with a letter or a digit");

/** What a plugin's hooks receive: any JSON object. Subscriptions choose by event type, whole segments of it. */
export const pluginHookSchema = z
  .record(z.string(), z.json())
  .describe(
    "What the tenant's subscribed plugins are called with, as `payload` of a function or `data` of a signed request. Every type below `plugin.hook.` is one.",
  );

/** Most that one event can count: so many events fit into a counter that it never overflows. */
const MAX_AMOUNT = 1_000_000_000_000;

/** A plugin has used a capability of the product. */
export const pluginCapabilityUseSchema = z
  .strictObject({
    pluginId: pluginNameSchema.describe("The plugin"),
    capability: pluginNameSchema.describe("What it used"),
    amount: z.number().int().positive().max(MAX_AMOUNT).describe("How much of it, a whole number"),
  })
  .describe("A plugin used a capability; `plugin-capability-count` adds it to the month in which the event was published, in UTC.");
