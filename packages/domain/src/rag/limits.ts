/** Most numbers of a vector: what pgvector takes, and more than any known model gives. */
export const MAX_DIMENSION = 16_000;
