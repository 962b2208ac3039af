import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "@toolctrl/docs-check/repository";
import type { z } from "zod";

/** The services that run our image. */
export const SERVICES = ["migrate", "worker-general", "worker-mail", "web"] as const;
export type ServiceName = (typeof SERVICES)[number];

/** A program of the image, and how it reads its environment. */
export interface Program {
  readonly service: ServiceName;
  /** The app's folder below `apps`. */
  readonly app: string;
  readonly shape: z.ZodRawShape;
  /** @throws CodedError `ENV.INVALID` listing every problem, those over several variables included */
  readonly read: (source: Readonly<Record<string, string | undefined>>) => unknown;
}

const SOURCES: ReadonlyArray<{ service: ServiceName; app: string; schema: string; read: string }> = [
  { service: "migrate", app: "cli", schema: "cliEnv", read: "readCliEnv" },
  { service: "worker-general", app: "worker-general", schema: "workerGeneralEnv", read: "readEnv" },
  { service: "worker-mail", app: "worker-mail", schema: "workerMailEnv", read: "readEnv" },
  { service: "web", app: "web", schema: "webEnv", read: "readEnv" },
];

/** Apps are loaded by path, as nothing else may import them. */
export function loadPrograms(): Promise<Program[]> {
  return Promise.all(
    SOURCES.map(async ({ service, app, schema, read }) => {
      const module: Record<string, unknown> = await import(pathToFileURL(join(ROOT, "apps", app, "src", "env.ts")).href);
      const [object, reader] = [module[schema], module[read]];
      if (object === undefined || typeof reader !== "function")
        throw new Error(`expected ${schema} and ${read} of ${app}, got them nowhere`);
      return { service, app, shape: (object as z.ZodObject).shape, read: reader as Program["read"] };
    }),
  );
}
