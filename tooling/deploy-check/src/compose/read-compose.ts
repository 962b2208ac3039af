import { parse } from "yaml";
import { z } from "zod";

const EXEC = "expected a list of words: in one text a shell would be the first process, and keep SIGTERM to itself";

/** `30s`, `2m` or `1m30s`, in ms. */
const duration = z
  .string()
  .regex(/^(?=\d)(?:(\d+)m)?(?:(\d+)s)?$/, { error: "expected a duration such as 30s or 1m30s" })
  .transform((text) => {
    const [, minutes = "0", seconds = "0"] = /^(?:(\d+)m)?(?:(\d+)s)?$/.exec(text) ?? [];
    return (Number(minutes) * 60 + Number(seconds)) * 1000;
  });

const words = z.array(z.string(), { error: EXEC }).min(1);

const serviceSchema = z.strictObject({
  build: z.literal(".").optional(),
  image: z.string().optional(),
  command: words.optional(),
  restart: z.enum(["no", "unless-stopped"]),
  stop_grace_period: duration.optional(),
  healthcheck: z
    .strictObject({
      test: words.refine(([kind]) => kind === "CMD", { error: "expected CMD and the words of the command: CMD-SHELL needs a shell" }),
      interval: duration,
      timeout: duration,
      retries: z.int().min(2),
      start_period: duration,
    })
    .optional(),
  depends_on: z.record(z.string(), z.strictObject({ condition: z.enum(["service_healthy", "service_completed_successfully"]) })).optional(),
  ports: z.array(z.string()).optional(),
  volumes: z.array(z.string()).optional(),
  exclude_from_hc: z.literal(true).optional(),
  // Numbers and booleans are texts to a program; YAML would turn `on` or `1e3` into others.
  environment: z
    .record(z.string(), z.union([z.string(), z.null()], { error: "expected a text, in quotes where YAML takes it for another" }))
    .optional(),
});

const composeSchema = z
  .looseObject({ services: z.record(z.string(), serviceSchema), volumes: z.record(z.string(), z.strictObject({})).optional() })
  .refine((file) => Object.keys(file).every((key) => ["services", "volumes"].includes(key) || key.startsWith("x-")), {
    error: "expected services, volumes and x-… only",
  });

export type Compose = z.output<typeof composeSchema>;
export type Service = z.output<typeof serviceSchema>;

/** What a compose file says, or what of it is no compose file of ours, a line each. */
export function readCompose(text: string): { readonly compose: Compose } | { readonly problems: readonly string[] } {
  const parsed = composeSchema.safeParse(parse(text, { merge: true }));
  if (parsed.success) return { compose: parsed.data };
  return { problems: parsed.error.issues.map(({ path, message }) => `${path.join(".") || "the file"}: ${message}`) };
}
