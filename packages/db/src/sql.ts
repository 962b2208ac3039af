import type { QueryResult, QueryResultRow } from "pg";

/** Where a SQL statement runs: a pool, or a client inside a transaction. */
export interface Queryable {
  query<Row extends QueryResultRow>(text: string, values?: unknown[]): Promise<QueryResult<Row>>;
}
