import { transaction } from "@toolctrl/db/client";
import type { JsonObject } from "@toolctrl/foundation/json";
import type { Command } from "commander";
import type { Registrar } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { hintDrainers } from "../hint-drainers.ts";
import { personOption } from "../options/action-options.ts";
import { parseJsonObject, tenantOption } from "../options/parse-options.ts";
import { writeResult } from "../output/write-result.ts";
import { withDatabase } from "../resources.ts";
import { showCommand } from "../workflows/commands-to-run.ts";
import { idOf } from "../workflows/id-of.ts";

interface ContinueOptions {
  readonly tenant: string;
  readonly value: JsonObject;
  readonly by: string;
}

/** `workflow continue <inputId>`: answers what a run asks. */
export function registerWorkflowContinue(parent: Command, registrar: Registrar): void {
  const command = tenantOption(
    parent
      .command("continue")
      .description("answer a question of a run, so that it goes on; the first answer counts, others are refused")
      .argument("<inputId>", "id of the question, as `workflow show` names it"),
  )
    .requiredOption("--value <json>", "the answer, a JSON object with the question's fields", parseJsonObject)
    .addOption(personOption("--by <name>", "who answers"));
  registrar.handle<ContinueOptions>(command, async ({ io, json, args, options }) => {
    const inputId = idOf("question", args[0]);
    return withDatabase(io, async ({ pool }) => {
      const { submitInput } = await import("@toolctrl/workflow/executions");
      const { tenant: tenantId, value, by: answeredBy } = options;
      const question = await transaction(pool, (tx) => submitInput(tx, { tenantId, inputId, value, answeredBy }));
      await hintDrainers(pool);
      writeResult(io, json, { question }, () =>
        [
          `Answered ${question.id} as ${answeredBy}; a worker goes on with run ${question.executionId}.`,
          `follow it with \`${showCommand({ tenantId, executionId: question.executionId })}\``,
        ].join("\n"),
      );
      return EXIT.ok;
    });
  });
}
