import type { MapProof } from "@toolctrl/consumer-map/proof";
import type { HeldBy } from "@toolctrl/outbox-drainer/held";
import { Command } from "commander";
import { createRegistrar } from "./command.ts";
import { registerAuditVerify } from "./commands/audit-verify.ts";
import { registerComplete } from "./commands/complete.ts";
import { registerDbMigrate } from "./commands/db-migrate.ts";
import { registerDbStatus } from "./commands/db-status.ts";
import { registerDoctor } from "./commands/doctor.ts";
import { registerLeadsDedupe } from "./commands/leads-dedupe.ts";
import { registerOutboxBackfillRecordKey } from "./commands/outbox-backfill-record-key.ts";
import { registerOutboxBlocked } from "./commands/outbox-blocked.ts";
import { registerOutboxCancel } from "./commands/outbox-cancel.ts";
import { registerOutboxGate } from "./commands/outbox-gate.ts";
import { registerOutboxList } from "./commands/outbox-list.ts";
import { registerOutboxProbe } from "./commands/outbox-probe.ts";
import { registerOutboxReconcile } from "./commands/outbox-reconcile.ts";
import { registerOutboxRequeue } from "./commands/outbox-requeue.ts";
import { registerOutboxShow } from "./commands/outbox-show.ts";
import { registerOutboxSkip } from "./commands/outbox-skip.ts";
import { registerOutboxStats } from "./commands/outbox-stats.ts";
import { registerOutboxTail } from "./commands/outbox-tail.ts";
import { registerOutboxTrace } from "./commands/outbox-trace.ts";
import { registerWorkflowCancel } from "./commands/workflow-cancel.ts";
import { registerWorkflowContinue } from "./commands/workflow-continue.ts";
import { registerWorkflowList } from "./commands/workflow-list.ts";
import { registerWorkflowRetry } from "./commands/workflow-retry.ts";
import { registerWorkflowRun } from "./commands/workflow-run.ts";
import { registerWorkflowShow } from "./commands/workflow-show.ts";
import { registerWorkflowValidate } from "./commands/workflow-validate.ts";
import { EXIT_CODES_HELP, type ExitCode } from "./exit-codes.ts";
import type { Io } from "./io.ts";

/** What another composition of the command line, a test's, may put in place of its own. */
export interface CliParts {
  /** The proof of the consumer map; by default of the map that this version carries. */
  readonly proveMap?: () => Promise<MapProof>;
  /** Which routes are held; by default those of the consumers that the map leaves out. */
  readonly heldBy?: HeldBy;
}

/** The whole command line. The exit code of the command that ran goes to `onExit`. */
export function createProgram(io: Io, onExit: (code: ExitCode) => void, parts: CliParts = {}): Command {
  const program = new Command("toolctrl-cli")
    .description("Operates the outbox and the workflows: examine, migrate, look, trace, probe, requeue, skip, cancel, run, answer, verify.")
    .option("--json", "write one JSON document to the output; logs, questions and progress go to the error output")
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeOut: (text) => void io.out.write(text), writeErr: (text) => void io.err.write(text) })
    .addHelpText("afterAll", EXIT_CODES_HELP)
    .showHelpAfterError("(add --help for the options)")
    .exitOverride();
  const registrar = createRegistrar(io, onExit);

  registerDoctor(program, registrar);

  const db = program.command("db").description("the database's tables");
  registerDbMigrate(db, registrar);
  registerDbStatus(db, registrar);

  const outbox = program.command("outbox").description("the events");
  registerOutboxList(outbox, registrar);
  registerOutboxShow(outbox, registrar);
  registerOutboxTail(outbox, registrar);
  registerOutboxStats(outbox, registrar, parts);
  registerOutboxBlocked(outbox, registrar);
  registerOutboxGate(outbox, registrar, parts);
  registerOutboxTrace(outbox, registrar, parts);
  registerOutboxProbe(outbox, registrar, parts);
  registerOutboxRequeue(outbox, registrar);
  registerOutboxReconcile(outbox, registrar);
  registerOutboxSkip(outbox, registrar);
  registerOutboxCancel(outbox, registrar);
  registerOutboxBackfillRecordKey(outbox, registrar);

  const workflow = program.command("workflow").description("the workflows and their runs");
  registerWorkflowList(workflow, registrar);
  registerWorkflowValidate(workflow, registrar);
  registerWorkflowRun(workflow, registrar);
  registerWorkflowShow(workflow, registrar);
  registerWorkflowContinue(workflow, registrar);
  registerWorkflowCancel(workflow, registrar);
  registerWorkflowRetry(workflow, registrar);

  const leads = program.command("leads").description("the leads and what they were converted to");
  registerLeadsDedupe(leads, registrar);

  const audit = program.command("audit").description("the audit trail");
  registerAuditVerify(audit, registrar);

  registerComplete(program, registrar);
  return program;
}
