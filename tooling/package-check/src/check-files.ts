import type { PackedPackage } from "./packed-package.ts";

/** What a package has besides its build. */
const EXTRA: Readonly<Record<string, RegExp>> = {
  "@toolctrl/db": /^prisma\/(?:schema\.prisma|schema-dump\.json|migrations\/(?:migration_lock\.toml|\w+\/migration\.sql))$/,
  // What test runs leave behind; an image carries it.
  "@toolctrl/consumer-map": /^evidence\.json$/,
};
const BUILT = /^dist\/[\w./-]+(?:\.js|\.js\.map|\.d\.ts)$|^dist\/source-hashes\.json$/;
const ALWAYS = new Set(["package.json", "README.md"]);
/** Tests, fixtures, settings of somebody. */
const UNWANTED = /\.(?:test|test-d)\.|(?:^|\/)(?:test|fixtures|scripts|node_modules)\/|\.env|\.pem$/;
/** What looks like one: the head of a private key, or a token of a well-known form. */
const SECRET = /-----BEGIN [A-Z ]*PRIVATE KEY-----|\bsk_live_\w|\bAKIA[0-9A-Z]{16}\b/;

/** Files that a tarball lacks, and files that have no business in it, a sentence each. */
export function checkFiles({ manifest, files }: PackedPackage, migrations: readonly string[]): string[] {
  const { name } = manifest;
  const missing = wantedOf(name, migrations).filter((path) => !files.has(path));
  const problems = missing.map((path) => `expected ${path}, got no such file`);
  for (const [path, text] of files) {
    const known = ALWAYS.has(path) || BUILT.test(path) || (EXTRA[name]?.test(path) ?? false);
    if (!known || UNWANTED.test(path)) problems.push(`expected what a product needs, got ${path}`);
    if (SECRET.test(text)) problems.push(`expected no secret, got one in ${path}`);
  }
  return problems;
}

function wantedOf(name: string, migrations: readonly string[]): string[] {
  if (name !== "@toolctrl/db") return [...ALWAYS];
  const ofMigrations = migrations.map((migration) => `prisma/migrations/${migration}/migration.sql`);
  return [...ALWAYS, "prisma/schema.prisma", "prisma/schema-dump.json", "dist/generated/client.d.ts", ...ofMigrations];
}
