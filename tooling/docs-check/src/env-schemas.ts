import { pathToFileURL } from "node:url";
import { join } from "node:path";
import type { z } from "zod";
import { listFiles, ROOT } from "./repository.ts";

/** A program and the variables it reads. */
export interface ProgramEnv {
  readonly program: string;
  readonly source: string;
  readonly shape: z.core.$ZodShape;
}

/** How people call the programs whose folder has another name. */
const NAMES: Readonly<Record<string, string>> = { cli: "toolctrl-cli", "dev-stack": "npm start (tooling/dev-stack)" };

/**
 * Every program with an `env.ts`, apps first, and all variables of the schemas that file exports.
 * @throws Error for an `env.ts` that exports no schema: its variables would be missing from the page.
 */
export async function listProgramEnvs(): Promise<ProgramEnv[]> {
  const sources = [...listFiles("apps/*/src/env.ts"), ...listFiles("tooling/*/src/env.ts")];
  return Promise.all(
    sources.map(async (source) => {
      const exported: Record<string, unknown> = await import(pathToFileURL(join(ROOT, source)).href);
      const shapes = Object.values(exported)
        .filter(isObjectSchema)
        .map((schema) => schema.shape);
      if (shapes.length === 0) throw new Error(`expected ${source} to export its schema, got none`);
      const folder = source.split("/")[1] ?? "";
      return { program: NAMES[folder] ?? folder, source, shape: Object.assign({}, ...shapes) as z.core.$ZodShape };
    }),
  );
}

function isObjectSchema(value: unknown): value is z.ZodObject {
  return typeof value === "object" && value !== null && "shape" in value && "safeParse" in value;
}
