import { CodedError, isCodedError } from "@toolctrl/foundation/errors";
import { encodeStrictJson } from "@toolctrl/foundation/json";
import { listSchemaProblems, problemLines, type SchemaProblem } from "@toolctrl/foundation/schema-problems";
import type { FastifyRequest } from "fastify";
import type { z } from "zod";

/** @throws CodedError `API.ARGUMENT` with every path that is wrong; `API.TOO_LARGE` */
export function readBody<T>(schema: z.ZodType<T>, { body }: FastifyRequest): T {
  // First, as the schemas pass what jsonb refuses.
  if (body !== undefined) checkStorable(body);
  return read(schema, body ?? undefined, "body");
}

/** @throws CodedError `API.ARGUMENT` with every path that is wrong */
export function readParams<T>(schema: z.ZodType<T>, { params }: FastifyRequest): T {
  return read(schema, params, "path");
}

/** @throws CodedError `API.ARGUMENT` with every path that is wrong */
export function readQuery<T>(schema: z.ZodType<T>, { query }: FastifyRequest): T {
  return read(schema, query, "query");
}

function read<T>(schema: z.ZodType<T>, value: unknown, whole: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw wrong(whole, listSchemaProblems(parsed.error));
}

function checkStorable(body: unknown): void {
  try {
    encodeStrictJson(body);
  } catch (error) {
    if (!isCodedError(error)) throw error;
    if (error.code === "PUBLISH.PAYLOAD_TOO_LARGE")
      throw new CodedError("API.TOO_LARGE", error.message, { facts: error.facts, cause: error });
    const { path, expected, got } = error.facts;
    const where = String(path).replace(/^payload\.?/, "");
    throw wrong("body", [{ path: where, message: `expected ${String(expected)}, got ${String(got)}` }]);
  }
}

/** All that is wrong with a part of a request. */
export function wrong(whole: string, problems: readonly SchemaProblem[]): CodedError {
  return new CodedError("API.ARGUMENT", `expected a ${whole} that fits, got:\n${problemLines(problems, whole)}`, { facts: { problems } });
}
