import { shellWord } from "../output/shell-word.ts";

/** Command lines that an answer names as the next step, ready to be pasted. */
const CLI = "toolctrl-cli workflow";

interface RunKey {
  readonly tenantId: string;
  readonly executionId: string;
}

export function showCommand({ tenantId, executionId }: RunKey): string {
  return `${CLI} show ${executionId} --tenant ${shellWord(tenantId)}`;
}

export function retryCommand({ tenantId, executionId }: RunKey, nodeId: string): string {
  return `${CLI} retry ${executionId} --tenant ${shellWord(tenantId)} --from ${nodeId}`;
}

export function continueCommand(question: { readonly id: string; readonly tenantId: string; readonly value: object }): string {
  const { id, tenantId, value } = question;
  return `${CLI} continue ${id} --tenant ${shellWord(tenantId)} --value ${shellWord(JSON.stringify(value))}`;
}
