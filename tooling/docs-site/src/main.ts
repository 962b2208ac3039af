// Checks the site that was built beside it. Ends with 1, a line for each problem.
import { fileURLToPath } from "node:url";
import { readSite, siteProblems } from "./site-problems.ts";

const pages = readSite(fileURLToPath(new URL("../dist", import.meta.url)));
const problems = siteProblems(pages);
for (const line of problems) process.stderr.write(`${line}\n`);
process.stdout.write(`docs site: ${pages.length} pages, ${problems.length} problems\n`);
process.exitCode = pages.length > 0 && problems.length === 0 ? 0 : 1;
