import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { bindMigrationAwareSqlAdapterFactory } from "@prisma/driver-adapter-utils";
import type * as Engine from "@prisma/schema-engine-wasm/schema_engine_bg";
import type pg from "pg";
import { engineAdapterFactory } from "./engine-adapter.ts";
import type { DatabaseLog } from "./log.ts";

// The part of WebAssembly used here; its types belong to the DOM library.
interface Wasm {
  compile(bytes: Uint8Array): Promise<object>;
  instantiate(module: object, imports: Record<string, object>): Promise<{ readonly exports: Record<string, unknown> }>;
}

let loading: Promise<typeof Engine> | undefined;

/**
 * Starts Prisma's migration engine, as WASM, over one connection that the caller owns: its lock and its transactions are the
 * caller's. No binary is fetched. `onScriptError` is told the server's own error of a migration that fails.
 */
export async function createSchemaEngine(
  client: pg.ClientBase,
  log?: DatabaseLog,
  onScriptError: (error: unknown) => void = () => undefined,
): Promise<Engine.SchemaEngine> {
  const engine = await (loading ??= loadEngine());
  const report = (line: string): void => log?.info({ line: line.trim().slice(0, 500) }, "migration engine");
  const factory = bindMigrationAwareSqlAdapterFactory(engineAdapterFactory(client, onScriptError));
  return engine.SchemaEngine.new({ datamodels: undefined }, report, factory);
}

// Node does not import .wasm files without a flag, so the module is instantiated by hand.
async function loadEngine(): Promise<typeof Engine> {
  const engine = await import("@prisma/schema-engine-wasm/schema_engine_bg");
  const glue = createRequire(import.meta.url).resolve("@prisma/schema-engine-wasm/schema_engine_bg");
  const { WebAssembly: wasm } = globalThis as unknown as { readonly WebAssembly: Wasm };
  const compiled = await wasm.compile(await readFile(glue.replace(/\.js$/, ".wasm")));
  const imports = Object.entries(engine).map(([name, value]) => [name, name.startsWith("__wbg_setTimeout_") ? startTimer : value]);
  const instance = await wasm.instantiate(compiled, { "./schema_engine_bg.js": Object.fromEntries(imports) as object });
  const { __wbg_set_wasm: setWasm } = engine;
  const { __wbindgen_start: start } = instance.exports;
  setWasm(instance.exports);
  if (typeof start === "function") start();
  return engine;
}

// The engine never clears its 10 s timer for the lock, which would keep the process alive for so long.
function startTimer(callback: () => void, ms: number): NodeJS.Timeout {
  return setTimeout(callback, ms).unref();
}
