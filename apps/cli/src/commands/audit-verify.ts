import { verifyAuditChain } from "@toolctrl/domain/audit";
import { CodedError } from "@toolctrl/foundation/errors";
import type { Command } from "commander";
import type { Registrar } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { writeResult } from "../output/write-result.ts";
import { withDatabase } from "../resources.ts";

/**
 * `audit verify <tenant>`: checks a tenant's audit chain; ends with 1 and `AUDIT.CHAIN_BROKEN` at the first row that is not what was appended, with 3
 * and `AUDIT.NO_CHAIN` where there is no entry.
 */
export function registerAuditVerify(parent: Command, registrar: Registrar): void {
  const command = parent.command("verify").description("check a tenant's audit chain, row by row").argument("<tenant>", "tenant");
  registrar.handle(command, ({ io, json, args }) =>
    withDatabase(io, async ({ pool }) => {
      const tenantId = args[0] ?? "";
      const report = await verifyAuditChain(pool, tenantId);
      if (report.broken !== null) {
        const { broken, ...facts } = report;
        throw new CodedError(broken.code, `entry ${broken.sequence} of ${report.tenantId}: ${broken.why}`, {
          facts: { ...facts, ...broken },
        });
      }
      // Of a chain that is not there nothing can be said, least of all that it is sound.
      if (report.verified === 0)
        throw new CodedError("AUDIT.NO_CHAIN", `expected an audit chain of ${tenantId}, got no entry`, { facts: { tenantId } });
      writeResult(
        io,
        json,
        report,
        () =>
          `Sound: ${report.verified} entries. Head ${report.headSequence}, hash ${report.headHash}; keep it elsewhere to notice a rewrite of the whole chain.`,
      );
      return EXIT.ok;
    }),
  );
}
