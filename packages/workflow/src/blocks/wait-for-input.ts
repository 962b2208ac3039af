import { uuidv7 } from "uuidv7";
import { publishContinue } from "../runner/publish-continue.ts";
import { beginWait } from "../runner/write-steps.ts";
import { renderText } from "../templates.ts";
import type { BlockEnd, BlockRun } from "./block-run.ts";

/** Asks: the question, the wait, and the event that ends it when nobody answers in time are one transaction. */
export async function runWaitForInput({ tx, execution, node, step, variables }: BlockRun<"waitForInput">): Promise<BlockEnd> {
  const { title, fields, assignee, expiresInSeconds } = node.config;
  const expiresAt = expiresInSeconds === undefined ? null : new Date(execution.now.getTime() + expiresInSeconds * 1000);
  await tx.query(
    `INSERT INTO "WorkflowInput" ("id", "tenantId", "executionId", "stepId", "title", "assignee", "fields", "expiresAt")
     VALUES ($1::uuid, $2, $3::uuid, $4::uuid, $5, $6, $7::jsonb, $8)`,
    [
      uuidv7(),
      execution.tenantId,
      execution.id,
      step.id,
      renderText(title, variables),
      assignee === undefined ? null : renderText(assignee, variables),
      JSON.stringify(fields),
      expiresAt,
    ],
  );
  await beginWait(tx, step.id);
  if (expiresAt !== null) await publishContinue(tx, execution, { reason: "expiry", stepId: step.id, scheduledAt: expiresAt });
  return { kind: "wait" };
}
