import { withDeadline } from "@toolctrl/runtime/deadline";
import { Pool } from "pg";
import { classifyQueueError, timeoutError, unreachableError } from "../classify-error.ts";
import type { ErrorReporter } from "../log.ts";

const PING_MS = 1200;

/** Asks the server things on a connection of its own, each within a bound. */
export interface PostgresProbe {
  /** @throws CodedError `QUEUE.UNREACHABLE`, `QUEUE.TIMEOUT`; a standby and a read-only session count as unreachable. */
  ping(): Promise<void>;
  clockMs(): Promise<number>;
  close(): Promise<void>;
}

export function createPostgresProbe(url: string, report: ErrorReporter): PostgresProbe {
  const pool = new Pool({
    connectionString: url,
    max: 1,
    connectionTimeoutMillis: PING_MS,
    query_timeout: PING_MS,
    statement_timeout: PING_MS,
    keepAlive: true,
    application_name: "toolctrl-queue-probe",
  });
  pool.on("error", report);
  const ask = async <Row extends object>(sql: string): Promise<Row> => {
    try {
      const { rows } = await withDeadline(pool.query<Row>(sql), PING_MS, () => timeoutError("the probe", PING_MS));
      return rows[0] as Row;
    } catch (error) {
      throw classifyQueueError(error).error;
    }
  };
  return {
    async ping() {
      const { readOnly } = await ask<{ readOnly: boolean }>(
        `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS "readOnly"`,
      );
      if (readOnly) throw unreachableError("a server that takes no writes");
    },
    async clockMs() {
      const { ms } = await ask<{ ms: number }>("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms");
      return ms;
    },
    close: () => pool.end(),
  };
}
