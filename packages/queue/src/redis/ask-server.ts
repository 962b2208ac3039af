import { describeError } from "@toolctrl/foundation/errors";
import type { Redis } from "ioredis";

/** One setting of the server under both of its names. */
export interface ServerQuestion {
  /** Its name for CONFIG GET. */
  readonly parameter: string;
  /** Where INFO tells it. */
  readonly section: string;
  readonly field: string;
}

/**
 * A setting of the server. A hosted Redis often forbids CONFIG, or gives it another name, and INFO tells the same; where both are
 * forbidden nobody can know, which is an answer and no failure.
 */
export async function askServer(
  redis: Pick<Redis, "config" | "info">,
  { parameter, section, field }: ServerQuestion,
): Promise<{ readonly value: string } | { readonly why: string }> {
  const asked = await answerOf(async () => (await redis.config("GET", parameter))[1]);
  if (asked.value !== undefined) return { value: asked.value };
  const told = await answerOf(async () => new RegExp(`^${field}:(\\S+)`, "m").exec(await redis.info(section))?.[1]);
  if (told.value !== undefined) return { value: told.value };
  return { why: `CONFIG GET: ${asked.why}; INFO: ${told.why}` };
}

async function answerOf(ask: () => Promise<string | undefined>): Promise<{ value: string | undefined; why: string }> {
  try {
    return { value: await ask(), why: "no answer" };
  } catch (error) {
    return { value: undefined, why: describeError(error, 200) };
  }
}
