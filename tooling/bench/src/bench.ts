import { consumeCase } from "./cases/consume.ts";
import { handOffCase } from "./cases/hand-off.ts";
import { publishCase } from "./cases/publish.ts";
import { measureCase, type BenchCase, type CaseResult } from "./measure.ts";
import type { BenchOptions, CaseName } from "./options.ts";
import { benchTelemetry, type Telemetry } from "./quiet.ts";
import { reportOf, type BenchReport } from "./report.ts";
import { startServers, type BenchServers } from "./servers.ts";

type MakeCase = (servers: BenchServers, operations: number, telemetry: Telemetry) => Promise<BenchCase>;

const CASES: Record<CaseName, { readonly make: MakeCase; readonly operations: number; readonly quickOperations: number }> = {
  publish: { make: publishCase, operations: 6_000, quickOperations: 50 },
  "hand-off": { make: handOffCase, operations: 50_000, quickOperations: 500 },
  consume: { make: consumeCase, operations: 20_000, quickOperations: 200 },
};

/** Starts the servers, measures one case after the other, and stops everything. */
export async function runBench(options: BenchOptions, progress: (line: string) => void): Promise<BenchReport> {
  const servers = await startServers();
  const telemetry = benchTelemetry();
  try {
    const results: CaseResult[] = [];
    for (const name of options.only) results.push(await measureOne(name, options, servers, telemetry, progress));
    return reportOf(options, servers, results);
  } finally {
    await servers.close();
  }
}

async function measureOne(
  name: CaseName,
  options: BenchOptions,
  servers: BenchServers,
  telemetry: Telemetry,
  progress: (line: string) => void,
): Promise<CaseResult> {
  const { make, operations, quickOperations } = CASES[name];
  const bench = await make(servers, options.quick ? quickOperations : operations, telemetry);
  try {
    return await measureCase(bench, options, progress);
  } finally {
    await bench.close();
  }
}
