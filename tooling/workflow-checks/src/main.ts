import { fileURLToPath } from "node:url";
import { describeVerdicts } from "./describe-verdicts.ts";
import { judgeReport } from "./judge-report.ts";
import { runTests } from "./run-tests.ts";
import { TOPICS } from "./topics.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const files = [...new Set(TOPICS.flatMap(({ evidence }) => evidence.map(({ file }) => file)))];
const verdicts = judgeReport(await runTests(root, files), TOPICS, root);
process.stdout.write(`${describeVerdicts(verdicts)}\n`);
process.exitCode = verdicts.every(({ problems }) => problems.length === 0) ? 0 : 1;
