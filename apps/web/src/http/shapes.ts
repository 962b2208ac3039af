import type { JsonObject } from "@toolctrl/foundation/json";
import { z } from "zod";

/** An object of JSON, whatever is in it. */
export const jsonObject: z.ZodType<JsonObject> = z.record(z.string(), z.json());

/** The id of the path. */
export const idParams = z.object({ id: z.uuid() });

/** A page: what comes after an id. */
export const afterQuery = z.strictObject({ after: z.uuid().optional() });

/** How a run is started. */
export const runBody = z.strictObject({ input: jsonObject.optional() }).default({});

/** Whom to notify, by id. */
export const notifyIds = z.array(z.string()).optional();
