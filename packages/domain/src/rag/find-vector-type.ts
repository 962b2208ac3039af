import type { Queryable } from "@toolctrl/db/sql";

/** What of pgvector a statement needs, with the schema it was installed in: quoted, to be put into SQL. */
export interface VectorType {
  readonly schema: string;
}

/**
 * pgvector's type and its operator `<=>`, as this server's catalogue has them; null where it has not. Asked anew each time: the extension may
 * come and go, and the question is answered from the server's cache.
 */
export async function findVectorType(db: Queryable): Promise<VectorType | null> {
  const { rows } = await db.query<VectorType>(
    `SELECT quote_ident(n.nspname) AS "schema"
     FROM pg_catalog.pg_extension e
     JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
     JOIN pg_catalog.pg_type t ON t.typnamespace = n.oid AND t.typname = 'vector'
     JOIN pg_catalog.pg_operator o ON o.oprnamespace = n.oid AND o.oprname = '<=>' AND o.oprleft = t.oid AND o.oprright = t.oid
     JOIN pg_catalog.pg_cast a ON a.castsource = 'real[]'::regtype AND a.casttarget = t.oid
     WHERE e.extname = 'vector'`,
  );
  return rows[0] ?? null;
}
