import type { RatioName } from "./options.ts";

/** One of the two programs that are compared. */
export interface Side {
  readonly label: string;
  /** Brings servers and tables to the same state before each run; not timed. */
  prepare(): Promise<void>;
  /** Does all operations of the case; this is what is timed. */
  run(): Promise<void>;
  /** Throws when the run did not do what it claims; not timed. */
  verify(): Promise<void>;
  /** CPU that was used so far where the work is done, µs; by default that of this process. */
  cpuMicros?(): Promise<number>;
}

export interface BenchCase {
  readonly name: RatioName;
  readonly title: string;
  /** What one operation is, in the plural. */
  readonly unit: string;
  /** Operations of one run. */
  readonly operations: number;
  /** The least ratio that is aimed at. */
  readonly target: number;
  /** What else decides the numbers, for the reader. */
  readonly settings: Readonly<Record<string, string | number | boolean>>;
  readonly baseline: Side;
  readonly product: Side;
  close(): Promise<void>;
}

export interface SideResult {
  readonly label: string;
  /** Operations per second, one entry for each round. */
  readonly perSecond: readonly number[];
  readonly median: number;
  /** Microseconds of CPU that the working processes used for one operation, the median of the rounds: steadier than the rate on a busy machine. */
  readonly cpuMicros: number;
}

export interface CaseResult {
  readonly name: RatioName;
  readonly title: string;
  readonly unit: string;
  readonly operations: number;
  readonly settings: BenchCase["settings"];
  readonly baseline: SideResult;
  readonly product: SideResult;
  /** The product's median over the baseline's. */
  readonly ratio: number;
  /** The same for each round alone: how far they lie apart says how much the machine was disturbed. */
  readonly roundRatios: readonly number[];
  readonly target: number;
  /** Null on a quick run, which decides nothing. */
  readonly met: boolean | null;
}

/** What one run of a side took. */
export interface Sample {
  readonly perSecond: number;
  readonly cpuMicros: number;
}

/** Runs both sides in turns (A B A B …), after one unmeasured turn of each in which code and caches warm up. */
export async function measureCase(
  bench: BenchCase,
  options: { rounds: number; quick: boolean },
  progress: (line: string) => void,
): Promise<CaseResult> {
  const samples: { baseline: Sample; product: Sample }[] = [];
  for (let round = 0; round <= options.rounds; round += 1) {
    const baseline = await sampleOf(bench.baseline, bench.operations);
    const product = await sampleOf(bench.product, bench.operations);
    progress(
      `${bench.name.padEnd(8)}  ${round === 0 ? "warm-up  " : `round ${round}/${options.rounds}`}  ${lineOf(baseline)} : ${lineOf(product)} ${bench.unit}`,
    );
    if (round > 0) samples.push({ baseline, product });
  }
  return resultOf(bench, samples, options.quick);
}

async function sampleOf(side: Side, operations: number): Promise<Sample> {
  await side.prepare();
  const cpuOf = side.cpuMicros ?? ownCpuMicros;
  const cpuBefore = await cpuOf();
  const startedAt = performance.now();
  await side.run();
  const seconds = (performance.now() - startedAt) / 1000;
  const cpuAfter = await cpuOf();
  await side.verify();
  return { perSecond: operations / seconds, cpuMicros: (cpuAfter - cpuBefore) / operations };
}

async function ownCpuMicros(): Promise<number> {
  const { user, system } = process.cpuUsage();
  return user + system;
}

function lineOf({ perSecond, cpuMicros }: Sample): string {
  return `${Math.round(perSecond)}/s (${Math.round(cpuMicros)} µs CPU)`;
}

/** Puts the rounds together. */
export function resultOf(
  bench: BenchCase,
  samples: readonly { readonly baseline: Sample; readonly product: Sample }[],
  quick: boolean,
): CaseResult {
  const { name, title, unit, operations, settings, target } = bench;
  const baseline = sideOf(
    bench.baseline.label,
    samples.map((sample) => sample.baseline),
  );
  const product = sideOf(
    bench.product.label,
    samples.map((sample) => sample.product),
  );
  const ratio = product.median / baseline.median;
  const roundRatios = samples.map((sample) => sample.product.perSecond / sample.baseline.perSecond);
  return { name, title, unit, operations, settings, baseline, product, ratio, roundRatios, target, met: quick ? null : ratio >= target };
}

function sideOf(label: string, samples: readonly Sample[]): SideResult {
  const perSecond = samples.map((sample) => sample.perSecond);
  return { label, perSecond, median: median(perSecond), cpuMicros: median(samples.map((sample) => sample.cpuMicros)) };
}

/** The middle value, or the mean of the two middle ones. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError("expected at least one value, got none");
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN;
  return (upper + lower) / 2;
}
