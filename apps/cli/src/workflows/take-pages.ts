/** The first `limit` rows of what comes page by page, each page after the last row of the one before, and whether there are more. */
export async function takePages<Row extends { readonly id: string }>(
  limit: number,
  page: (after: string | undefined) => Promise<readonly Row[]>,
): Promise<{ readonly rows: readonly Row[]; readonly more: boolean }> {
  const rows: Row[] = [];
  for (;;) {
    const found = await page(rows.at(-1)?.id);
    rows.push(...found);
    if (found.length === 0 || rows.length > limit) return { rows: rows.slice(0, limit), more: rows.length > limit };
  }
}
