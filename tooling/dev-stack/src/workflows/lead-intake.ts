import type { WorkflowDefinitionInput } from "@toolctrl/foundation/workflows";

/** A form's submission becomes an inquiry; a person accepts or declines it, or lets it lie; whoever asked is told. */
export function leadIntake(formId: string): WorkflowDefinitionInput {
  return {
    name: "Lead intake with approval",
    trigger: { type: "form", formId },
    start: "record",
    nodes: [
      {
        id: "record",
        block: "rowCreate",
        config: {
          table: "inquiry",
          data: { name: "{{ trigger.data.fullName }}", email: "{{ trigger.data.email }}", seats: "{{ trigger.data.seats }}", state: "new" },
        },
      },
      {
        id: "approve",
        block: "waitForInput",
        config: {
          title: "Accept the inquiry of {{ trigger.data.fullName }}?",
          assignee: "sales",
          fields: [
            { name: "decision", label: "Decision", type: "choice", choices: ["accept", "decline"] },
            { name: "remark", label: "Remark", type: "text", required: false },
          ],
          expiresInSeconds: 259_200,
        },
      },
      {
        id: "decide",
        block: "switch",
        config: {
          value: "steps.approve.value.decision",
          cases: [
            { name: "accepted", equals: "accept" },
            { name: "declined", equals: "decline" },
          ],
        },
      },
      { id: "accept", block: "rowUpdate", config: { table: "inquiry", id: "{{ steps.record.id }}", data: { state: "accepted" } } },
      { id: "decline", block: "rowUpdate", config: { table: "inquiry", id: "{{ steps.record.id }}", data: { state: "declined" } } },
      { id: "expire", block: "rowUpdate", config: { table: "inquiry", id: "{{ steps.record.id }}", data: { state: "expired" } } },
      {
        id: "welcome",
        block: "email",
        config: {
          to: "{{ trigger.data.email }}",
          subject: "Welcome, {{ trigger.data.fullName }}",
          html: "<p>Dear {{ trigger.data.fullName }}, we look forward to {{ trigger.data.seats }} seats.</p>",
        },
      },
    ],
    edges: [
      { from: "record", to: "approve" },
      { from: "approve", to: "decide" },
      { from: "approve", branch: "expired", to: "expire" },
      { from: "decide", branch: "accepted", to: "accept" },
      { from: "decide", branch: "declined", to: "decline" },
      { from: "accept", to: "welcome" },
      { from: "decline", to: null },
      { from: "expire", to: null },
      { from: "welcome", to: null },
    ],
  };
}
