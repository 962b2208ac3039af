/** The id of the seventh seeded row. */
export const ID = "00000000-0000-0000-0000-000000000007";
/** The id of the row `n`. */
export const UUID = `lpad(to_hex(n), 32, '0')::uuid`;
/** The tenant of the row `n`. */
export const TENANT = `'tenant-' || n % 50`;
