import { z } from "zod";
import type { JsonValue } from "../../json.ts";
import { templateSchema } from "../texts.ts";

export const HTTP_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

const MAX_URL_LENGTH = 4_000;
const MAX_HEADERS = 50;
const MAX_HEADER_LENGTH = 8_000;
const MAX_BODY_LENGTH = 200_000;

/** `json`: any JSON, whose strings are templates. `text`: one template. */
export type HttpBody = { readonly json: JsonValue } | { readonly text: string };

const headerName = z
  .string()
  .max(200)
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, { error: "expected the name of a header: letters, digits and hyphens" });

const bodySchema = z
  .strictObject({ json: z.json().optional(), text: z.string().max(MAX_BODY_LENGTH).optional() })
  .refine((body) => (body.json === undefined) !== (body.text === undefined), { error: "expected either json or text" })
  .transform((body) => body as HttpBody);

/** A request. URL, headers and body are Liquid templates. Its output is `{ status, headers, body }`. */
export const httpRequestConfigSchema = z.strictObject({
  method: z.enum(HTTP_METHODS),
  url: templateSchema(MAX_URL_LENGTH),
  headers: z
    .record(headerName, z.string().max(MAX_HEADER_LENGTH))
    .refine((headers) => Object.keys(headers).length <= MAX_HEADERS, { error: `expected at most ${MAX_HEADERS} headers` })
    .optional(),
  body: bodySchema.optional(),
  /** A credential that the product keeps; only the web app's bridge can read it. */
  credentialId: z.uuid().optional(),
  /** Statuses that are no failure; without them 200 to 299. */
  successStatuses: z.array(z.int().min(100).max(599)).min(1).max(50).optional(),
  timeoutSeconds: z.int().min(1).max(30).default(10),
});
