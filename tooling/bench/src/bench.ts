import { claimCase } from "./cases/claim.ts";
import { consumeCase } from "./cases/consume.ts";
import { handOffCase } from "./cases/hand-off.ts";
import { publishCase } from "./cases/publish.ts";
import { stepsCase } from "./cases/steps.ts";
import { workersCase } from "./cases/workers.ts";
import { measureCase, type BenchCase, type CaseResult } from "./measure.ts";
import type { BenchOptions, RatioName } from "./options.ts";
import { measureClaimPlans } from "./plans/claim-plans.ts";
import { benchTelemetry, type Telemetry } from "./quiet.ts";
import { reportOf, type BenchReport } from "./report.ts";
import { startServers, type BenchServers } from "./servers.ts";

type MakeCase = (servers: BenchServers, operations: number, telemetry: Telemetry) => Promise<BenchCase>;

const CASES: Record<RatioName, { readonly make: MakeCase; readonly operations: number; readonly quickOperations: number }> = {
  publish: { make: publishCase, operations: 6_000, quickOperations: 50 },
  "hand-off": { make: handOffCase, operations: 50_000, quickOperations: 500 },
  consume: { make: consumeCase, operations: 20_000, quickOperations: 200 },
  claim: { make: claimCase, operations: 2_000, quickOperations: 20 },
  steps: { make: stepsCase, operations: 4_000, quickOperations: 40 },
  "workers-2": { make: workersCase({ work: "workers", processes: 2, target: 1 }), operations: 6_000, quickOperations: 40 },
  "workers-4": { make: workersCase({ work: "workers", processes: 4, target: 1 }), operations: 6_000, quickOperations: 40 },
  "mails-2": { make: workersCase({ work: "mails", processes: 2, target: 1.8 }), operations: 800, quickOperations: 40 },
  "mails-4": { make: workersCase({ work: "mails", processes: 4, target: 3 }), operations: 800, quickOperations: 40 },
};

/** Starts the servers, measures one case after the other, and stops everything. */
export async function runBench(options: BenchOptions, progress: (line: string) => void): Promise<BenchReport> {
  const servers = await startServers();
  const telemetry = benchTelemetry();
  try {
    const results: CaseResult[] = [];
    for (const name of options.only) {
      if (name !== "claim-plans") results.push(await measureOne(name, options, servers, telemetry, progress));
    }
    const plans = options.only.includes("claim-plans") ? await measureClaimPlans(servers, telemetry, options.quick, progress) : [];
    return reportOf(options, servers, results, plans);
  } finally {
    await servers.close();
  }
}

async function measureOne(
  name: RatioName,
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
