/** A database that a test may use, and what named it. */
export interface E2eDatabase {
  readonly from: string;
  /** Null: one of the suite's own, made for the test. */
  readonly url: string | null;
}

/** In the order in which they are asked. */
const VARIABLES = ["WORKFLOW_TRIGGER_E2E_DATABASE_URL", "OUTBOX_E2E_DATABASE_URL", "DATABASE_URL"] as const;

export const HOW_TO_RUN =
  "set WORKFLOW_TRIGGER_E2E_DATABASE_URL to a migrated PostgreSQL database that nobody drains (or OUTBOX_E2E_DATABASE_URL, or a DATABASE_URL that is no stub), or run it with the suite";

/** Hosts that RFC 2606 keeps free, and names that people give to what is not there. */
const NOBODY = /^(?:stub|dummy|placeholder|example)$|(?:^|\.)(?:example|invalid|test|example\.(?:com|net|org))$/;

/**
 * The database that the environment names for this test; in the suite's own run, without a name, one of the suite's; null when there is none.
 *
 * A stub `DATABASE_URL` counts as none. It is one that only lets code be loaded which reads the variable, as builds set it: no URL of
 * PostgreSQL, one without host or database, or one whose host or database is called stub, dummy, placeholder or example, or is a name that
 * can belong to nobody (`.test`, `.invalid`, `.example`).
 */
export function chooseE2eDatabase(env: Readonly<Record<string, string | undefined>>): E2eDatabase | null {
  for (const name of VARIABLES) {
    const url = env[name] ?? "";
    if (url === "" || (name === "DATABASE_URL" && isStub(url))) continue;
    return { from: name, url };
  }
  return env["TESTKIT_TEMPLATE"] === undefined ? null : { from: "the suite", url: null };
}

export function isStub(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !/^postgres(?:ql)?:$/.test(url.protocol)) return true;
  const database = url.pathname.slice(1);
  return url.hostname === "" || database === "" || NOBODY.test(url.hostname) || NOBODY.test(database);
}
