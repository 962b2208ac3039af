import { assertNever } from "@toolctrl/foundation/errors";
import type { BlockId } from "@toolctrl/foundation/workflows";
import type { BlockEnd, BlockRun } from "./block-run.ts";
import { runIf, runSwitch } from "./decide.ts";
import { runEmail } from "./email.ts";
import { runRowCreate, runRowDelete, runRowUpdate } from "./rows.ts";
import { runWaitForInput } from "./wait-for-input.ts";

/** The blocks whose whole effect is writes of the step's transaction: all but the one that calls somebody outside. */
export type TransactionalBlock = Exclude<BlockId, "httpRequest">;

/** Runs a block in its step's transaction. What it throws undoes all of it. */
export async function runBlock(run: BlockRun<TransactionalBlock>): Promise<BlockEnd> {
  const { node } = run;
  switch (node.block) {
    case "email":
      return runEmail({ ...run, node });
    case "if":
      return runIf({ ...run, node });
    case "switch":
      return runSwitch({ ...run, node });
    case "rowCreate":
      return runRowCreate({ ...run, node });
    case "rowUpdate":
      return runRowUpdate({ ...run, node });
    case "rowDelete":
      return runRowDelete({ ...run, node });
    case "waitForInput":
      return runWaitForInput({ ...run, node });
    default:
      return assertNever(node);
  }
}
