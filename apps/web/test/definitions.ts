import type { WorkflowDefinitionInput } from "@toolctrl/foundation/workflows";

type Node = WorkflowDefinitionInput["nodes"][number];

/** A workflow that is started by hand; its nodes follow one another. */
export function manual(nodes: Node[], trigger: WorkflowDefinitionInput["trigger"] = { type: "manual" }): WorkflowDefinitionInput {
  const edges = nodes.map(({ id }, index) => ({ from: id, to: nodes[index + 1]?.id ?? null }));
  return { name: "Test", trigger, start: nodes[0]?.id ?? "", nodes, edges };
}

/** A step that writes a row, so that whether it ran can be seen. */
export function note(id: string): Node {
  return { id, block: "rowCreate", config: { table: "note", data: { step: id } } };
}

/** A step that asks a person. */
export function ask(id: string): Node {
  const fields = [{ name: "answer", label: "Answer", type: "text" as const }];
  return { id, block: "waitForInput", config: { title: `Question ${id}`, fields, expiresInSeconds: 3600 } };
}

/** A step that calls somebody. */
export function call(id: string, url: string, credentialId?: string): Node {
  const credential = credentialId === undefined ? {} : { credentialId };
  return {
    id,
    block: "httpRequest",
    config: { method: "POST", url: `${url}/${id}`, ...credential },
    retry: { maxAttempts: 1, backoffSeconds: 1 },
  };
}
