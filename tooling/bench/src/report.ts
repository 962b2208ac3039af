import { availableParallelism, cpus, totalmem } from "node:os";
import Table from "cli-table3";
import type { CaseResult } from "./measure.ts";
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
}

export function reportOf(options: { quick: boolean; rounds: number }, servers: BenchServers, cases: readonly CaseResult[]): BenchReport {
  const machine = {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform}-${process.arch}`,
    node: process.version,
  };
  return { at: new Date().toISOString(), quick: options.quick, rounds: options.rounds, machine, servers: servers.described, cases };
}

/** The table for people: medians, the ratio with its spread over the rounds, and the target beside it. */
export function tableOf(report: BenchReport): string {
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
  const { machine, servers, rounds, quick } = report;
  const where = `${machine.cores} cores (${machine.cpu}), Node ${machine.node}, PostgreSQL ${servers.postgres["server_version"]} (fsync ${servers.postgres["fsync"]}), Redis ${servers.redis["version"]} (AOF ${servers.redis["appendfsync"]})`;
  const how = quick ? "a quick run: its ratios say nothing about speed" : `medians of ${rounds} interleaved rounds`;
  return `${table.toString()}\n${where}\n${how}; product and baseline share the machine with both servers.`;
}

function whole(value: number): string {
  return Math.round(value).toLocaleString("en");
}
