/** A stored credential as people see it: without its secret. */
export interface Credential {
  readonly id: string;
  readonly name: string;
  /** The header that it adds to a request. */
  readonly header: string;
  readonly createdAt: Date;
}

/** The columns of a {@link Credential}, for SELECT and RETURNING. */
export const CREDENTIAL_COLUMNS = `"id"::text AS "id", "name", "header", "createdAt"`;
