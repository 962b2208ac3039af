/** Workflows and their versions. */
export { listWorkflows, readWorkflow } from "./definitions/read-workflow.ts";
export { loadDefinition } from "./definitions/load-definition.ts";
export { createWorkflow, switchWorkflow, updateWorkflow } from "./definitions/save-workflow.ts";
export { triggerKeyOf, type Workflow, type WorkflowKey } from "./definitions/workflow.ts";
export { checkWorkflowTexts } from "./definitions/check-workflow-texts.ts";
