import { parseArgs } from "node:util";

export const CASE_NAMES = [
  "publish",
  "hand-off",
  "consume",
  "claim",
  "steps",
  "workers-2",
  "workers-4",
  "mails-2",
  "mails-4",
  "claim-plans",
] as const;
export type CaseName = (typeof CASE_NAMES)[number];
/** Those that compare two programs; `claim-plans` measures one statement on growing tables. */
export type RatioName = Exclude<CaseName, "claim-plans">;

export interface BenchOptions {
  /** Small counts and one round: shows that the bench works, says nothing about speed. */
  readonly quick: boolean;
  readonly rounds: number;
  readonly only: readonly CaseName[];
  /** One JSON document on stdout, the table on stderr. */
  readonly json: boolean;
  /** A file that gets the JSON document too. */
  readonly out: string | undefined;
}

export const USAGE = `pnpm bench [--quick] [--rounds 3] [--only publish,hand-off,consume,claim,steps,workers-2,workers-4,mails-2,mails-4,claim-plans] [--json] [--out FILE]

  --quick    small counts and one round: shows that the bench works, says nothing about speed
  --rounds   measured rounds; both sides run once in each, after one unmeasured warm-up
  --only     the cases to run
  --json     print one JSON document on stdout; the table goes to stderr
  --out      write the JSON document to a file too

  Starts its own PostgreSQL (fsync on) and Redis (append-only file, fsync every second) on free loopback ports.`;

/** @throws TypeError on an unknown flag, or a value that is out of bounds. */
export function parseOptions(args: readonly string[]): BenchOptions | "help" {
  const { values } = parseArgs({
    args: args.filter((arg) => arg !== "--"),
    options: {
      quick: { type: "boolean", default: false },
      rounds: { type: "string" },
      only: { type: "string", default: CASE_NAMES.join(",") },
      json: { type: "boolean", default: false },
      out: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return "help";
  return {
    quick: values.quick,
    rounds: roundsOf(values.rounds ?? (values.quick ? "1" : "3")),
    only: casesOf(values.only),
    json: values.json,
    out: values.out,
  };
}

function roundsOf(text: string): number {
  const rounds = Number(text);
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 100)
    throw new TypeError(`expected --rounds to be a whole number from 1 to 100, got ${text}`);
  return rounds;
}

function casesOf(text: string): CaseName[] {
  const wanted = text.split(",").map((name) => name.trim());
  const unknown = wanted.filter((name) => !CASE_NAMES.some((known) => known === name));
  if (unknown.length > 0) throw new TypeError(`expected --only to name ${CASE_NAMES.join(", ")}, got ${unknown.join(", ")}`);
  return CASE_NAMES.filter((name) => wanted.includes(name));
}
