import type { ExportTarget, Manifest } from "./packed-package.ts";

/**
 * The exports of a package as its tarball has them: one file each, its types beside it, so that no order of conditions can be wrong. Those of
 * the repository lead to sources too, which are not packed: a product with sources of its own under that condition would be sent to them.
 */
export function publishExportsOf({ exports = {} }: Manifest): Record<string, ExportTarget> {
  return Object.fromEntries(Object.entries(exports).map(([subpath, target]) => [subpath, builtFileOf(subpath, target)]));
}

function builtFileOf(subpath: string, target: ExportTarget): string {
  const file = typeof target === "string" ? target : target.default;
  if (file === undefined) throw new Error(`expected ${subpath} to lead to a file by default, got ${JSON.stringify(target)}`);
  return file;
}

/** A manifest's text with the exports that its package is published with; `pnpm pack` puts them in the place of the others. */
export function withPublishExports(text: string): string {
  const { publishConfig: _, ...manifest } = JSON.parse(text) as Manifest;
  const publishConfig = { exports: publishExportsOf(manifest) };
  const fields = Object.entries(manifest).flatMap((field): Array<[string, unknown]> =>
    field[0] === "exports" ? [field, ["publishConfig", publishConfig]] : [field],
  );
  return `${JSON.stringify(Object.fromEntries(fields), null, 2)}\n`;
}
