/** Rows of a tenant's tables: every change publishes its `record.<table>.…` event in the same transaction. */
export { MAX_ROW_BYTES } from "./rows/check-row.ts";
export { readRow, type RowView } from "./rows/read-row.ts";
export { MAX_ROW_LEVEL, rowCreate, type NewRow } from "./rows/row-create.ts";
export { MAX_CASCADE_ROWS, rowDelete, type DeletedRow, type RowDelete } from "./rows/row-delete.ts";
export { rowUpdate, type RowUpdate } from "./rows/row-update.ts";
export type { Row, RowChange, RowChangeKind, RowEventContext, RowKey, RowSnapshot } from "./rows/row.ts";
