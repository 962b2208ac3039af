export { compareWithDeclared } from "./inventory/compare-with-declared.ts";
export { compareWithLive } from "./inventory/compare-with-live.ts";
export type { Declared, Live, MapUnderTest } from "./inventory/compared.ts";
