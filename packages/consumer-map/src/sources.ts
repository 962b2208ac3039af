/** The sources of a checkout, and what of them a program loads. */
export { importClosure } from "./sources/import-closure.ts";
export { openWorkspace, type Workspace } from "./sources/open-workspace.ts";
