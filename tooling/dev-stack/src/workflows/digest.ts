import type { WorkflowDefinitionInput } from "@toolctrl/foundation/workflows";

/** A row in `digest` is a mail with a list; once it is sent the row says so. */
export const DIGEST: WorkflowDefinitionInput = {
  name: "Row-driven digest mail",
  trigger: { type: "row", table: "digest", on: ["created"] },
  start: "send",
  nodes: [
    {
      id: "send",
      block: "email",
      config: {
        to: "{{ trigger.data.after.data.to }}",
        subject: "{{ trigger.data.after.data.title }} ({{ trigger.data.after.data.lines | size }})",
        html: "<ul>{% for line in trigger.data.after.data.lines %}<li>{{ line }}</li>{% endfor %}</ul>",
      },
    },
    { id: "mark", block: "rowUpdate", config: { table: "digest", id: "{{ trigger.recordId }}", data: { sent: true } } },
  ],
  edges: [
    { from: "send", to: "mark" },
    { from: "mark", to: null },
  ],
};
