import { createDatabase } from "@toolctrl/db/client";
import { createHeadClaimer } from "@toolctrl/outbox-drainer/pull-claim";
import { holdHeads, insertBacklog, setMode, settleTables, type Backlog } from "../backlog.ts";
import { median } from "../measure.ts";
import type { Telemetry } from "../quiet.ts";
import type { BenchServers } from "../servers.ts";
import { explainClaims } from "./explain-claims.ts";

/** What the pull claim costs on one shape of the table. */
export interface PlanResult {
  readonly shape: string;
  readonly pending: number;
  readonly headsInFlight: number;
  /** Claims that were timed, each as a worker makes it: one statement or several. */
  readonly claims: number;
  /** Those that found an event; the others ended at a bound of the search, and the next one went on from there. */
  readonly found: number;
  readonly medianMs: number;
  readonly worstMs: number;
  /** Of one statement, by EXPLAIN (ANALYZE, BUFFERS): pages of 8 KiB looked at. */
  readonly medianBuffers: number;
  readonly worstBuffers: number;
  /** Of one statement, by the server's clock: without its planning and the round trip. */
  readonly executionMs: number;
}

interface Shape {
  readonly name: string;
  /** Whether the rows of the shape before it stay. */
  readonly grows: boolean;
  readonly add: readonly Backlog[];
  /** Records of this kind have their head in flight. */
  readonly held?: string;
}

const CLAIMS = 200;
const QUICK_CLAIMS = 10;
/** What a quick run divides all counts by. */
const QUICK_DIVISOR = 100;

/** A growing backlog, then one with lines that are held, then the worst: one tenant whose oldest events all wait behind held heads. */
function shapesOf(divisor: number): Shape[] {
  const size = (count: number): number => Math.ceil(count / divisor);
  const orders = (events: number, tenants = 10): Backlog => ({ events: size(events), tenants, object: "Order", age: "1 hour" });
  const waiting = (events: number, records: number, tenants: number): Backlog => {
    return { events: size(events) + size(records), tenants, records: size(records), object: "Held", age: "2 hours" };
  };
  return [
    { name: "10 tenants, 10,000 records", grows: false, add: [orders(10_000)] },
    { name: "10 tenants, 100,000 records", grows: true, add: [{ ...orders(90_000), object: "Offer" }] },
    { name: "10 tenants, 1,000,000 records", grows: true, add: [{ ...orders(900_000), object: "Part" }] },
    {
      name: "the same, and 100,000 older events behind 1,000 heads in flight",
      grows: true,
      add: [waiting(100_000, 1000, 10)],
      held: "Held",
    },
    { name: "1 tenant, 10,000 records", grows: false, add: [orders(10_000, 1)] },
    { name: "the same, and 100,000 older events behind 1 head in flight", grows: true, add: [waiting(100_000, 1, 1)], held: "Held" },
    {
      name: "1 tenant, 10,000 records, and 100,000 older events behind 1,000 heads in flight",
      grows: false,
      add: [orders(10_000, 1), waiting(100_000, 1000, 1)],
      held: "Held",
    },
  ];
}

/** Measures the pull claim on shapes of the table that could slow it. */
export async function measureClaimPlans(
  servers: BenchServers,
  telemetry: Telemetry,
  quick: boolean,
  progress: (line: string) => void,
): Promise<PlanResult[]> {
  const { admin } = servers;
  const results: PlanResult[] = [];
  await setMode(admin, "pull");
  try {
    for (const shape of shapesOf(quick ? QUICK_DIVISOR : 1)) {
      await fill(servers, shape);
      const result = await measureShape(servers, telemetry, shape, quick ? QUICK_CLAIMS : CLAIMS);
      progress(`claim-plans  ${result.medianMs.toFixed(1)} ms, ${result.medianBuffers} buffers  ${shape.name}`);
      results.push(result);
    }
  } finally {
    await setMode(admin, "batch");
    await servers.emptyTables("OutboxEvent");
  }
  return results;
}

async function fill({ admin, emptyTables }: BenchServers, shape: Shape): Promise<void> {
  if (!shape.grows) await emptyTables("OutboxEvent");
  for (const backlog of shape.add) await insertBacklog(admin, backlog);
  if (shape.held !== undefined) await holdHeads(admin, shape.held);
  await settleTables(admin);
}

async function measureShape(servers: BenchServers, telemetry: Telemetry, shape: Shape, claims: number): Promise<PlanResult> {
  const counts = await countEvents(servers);
  const statements = await explainClaims(servers.admin);
  const { times, found } = await timeClaims(servers, telemetry, claims);
  const buffers = statements.map((statement) => statement.buffers);
  return {
    shape: shape.name,
    ...counts,
    claims,
    found,
    medianMs: median(times),
    worstMs: Math.max(...times),
    medianBuffers: median(buffers),
    worstBuffers: Math.max(...buffers),
    executionMs: median(statements.map((statement) => statement.executionMs)),
  };
}

async function countEvents({ admin }: BenchServers): Promise<{ pending: number; headsInFlight: number }> {
  const { rows } = await admin.query<{ pending: number; held: number }>(
    `SELECT count(*) FILTER (WHERE "status" = 'PENDING')::int AS pending, count(*) FILTER (WHERE "payload" ->> 'object' = 'Held' AND "status" = 'PROCESSING')::int AS held
     FROM "OutboxEvent"`,
  );
  return { pending: rows[0]?.pending ?? 0, headsInFlight: rows[0]?.held ?? 0 };
}

/** One worker's claims from a cold start, as the product makes them: its place in the walks is carried on from claim to claim. */
async function timeClaims(servers: BenchServers, telemetry: Telemetry, claims: number): Promise<{ times: number[]; found: number }> {
  const database = await createDatabase({ url: servers.databaseUrl, poolMax: 1, app: "bench" });
  try {
    const claimer = createHeadClaimer({ pool: database.pool, leaseMs: 3_600_000, ...telemetry });
    // Connects, and learns the epoch.
    await claimer.epoch();
    const times: number[] = [];
    let found = 0;
    while (times.length < claims) {
      const startedAt = performance.now();
      if ((await claimer.claim()) !== null) found += 1;
      times.push(performance.now() - startedAt);
    }
    return { times, found };
  } finally {
    await database.close();
  }
}
