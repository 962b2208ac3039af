import { availableParallelism, cpus, totalmem } from "node:os";
import Table from "cli-table3";
import type { CaseResult } from "./measure.ts";
import type { PlanResult } from "./plans/claim-plans.ts";
import type { BenchServers } from "./servers.ts";

/** The JSON document. Only its ratios travel from one machine to another. */
export interface BenchReport {
  readonly at: string;
  /** True when the counts were too small to say anything about speed. */
  readonly quick: boolean;
  readonly rounds: number;
  readonly machine: {
    readonly cores: number;
    readonly cpu: string;
    readonly memoryGiB: number;
    readonly platform: string;
    readonly node: string;
  };
  readonly servers: BenchServers["described"];
  readonly cases: readonly CaseResult[];
  /** The pull claim on tables of several shapes. */
  readonly claimPlans: readonly PlanResult[];
}

export function reportOf(
  options: { quick: boolean; rounds: number },
  servers: BenchServers,
  cases: readonly CaseResult[],
  claimPlans: readonly PlanResult[],
): BenchReport {
  const machine = {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform}-${process.arch}`,
    node: process.version,
  };
  const { quick, rounds } = options;
  return { at: new Date().toISOString(), quick, rounds, machine, servers: servers.described, cases, claimPlans };
}

/** The tables for people, and what stood around the numbers. */
export function tableOf(report: BenchReport): string {
  const tables = [report.cases.length > 0 ? caseTable(report) : "", report.claimPlans.length > 0 ? planTable(report) : ""];
  const { machine, servers, rounds, quick } = report;
  const where = `${machine.cores} cores (${machine.cpu}), Node ${machine.node}, PostgreSQL ${servers.postgres["server_version"]} (fsync ${servers.postgres["fsync"]}), Redis ${servers.redis["version"]} (AOF ${servers.redis["appendfsync"]})`;
  const how = quick ? "a quick run: its ratios say nothing about speed" : `medians of ${rounds} interleaved rounds`;
  return [...tables.filter((table) => table !== ""), where, `${how}; product and baseline share the machine with both servers.`].join("\n");
}

/** Medians, the ratio with its spread over the rounds, and the target beside it. */
function caseTable(report: BenchReport): string {
  const table = new Table({
    head: ["case", "baseline /s", "product /s", "ratio", "rounds", "target", ""],
    colAligns: ["left", "right", "right", "right", "right", "right", "left"],
    style: { head: [], border: [] },
  });
  for (const { title, unit, operations, settings, baseline, product, ratio, roundRatios, target, met } of report.cases) {
    const details = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
    const name = [title, `${operations} ${unit}; ${details.join(", ")}`].join("\n");
    const verdict = met === null ? "" : met ? "met" : "missed";
    const spread = roundRatios.map((each) => each.toFixed(2)).join(" ");
    table.push([name, whole(baseline.median), whole(product.median), ratio.toFixed(2), spread, `≥ ${target.toFixed(2)}`, verdict]);
  }
  return table.toString();
}

/** One row for each shape of the table that the pull claim was measured on. */
function planTable(report: BenchReport): string {
  const table = new Table({
    head: ["pull claim", "pending", "buffers (worst)", "executed ms", "claim ms (worst)", "found"],
    colAligns: ["left", "right", "right", "right", "right", "right"],
    style: { head: [], border: [] },
  });
  for (const { shape, pending, medianBuffers, worstBuffers, executionMs, medianMs, worstMs, found, claims } of report.claimPlans) {
    const buffers = `${whole(medianBuffers)} (${whole(worstBuffers)})`;
    table.push([
      shape,
      whole(pending),
      buffers,
      executionMs.toFixed(2),
      `${medianMs.toFixed(2)} (${worstMs.toFixed(1)})`,
      `${found}/${claims}`,
    ]);
  }
  return table.toString();
}

function whole(value: number): string {
  return Math.round(value).toLocaleString("en");
}
