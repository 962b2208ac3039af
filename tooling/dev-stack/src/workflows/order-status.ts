import type { WorkflowDefinitionInput } from "@toolctrl/foundation/workflows";

/** Each new state of an order is told to the shop, again and again while it is away; what the shop answers is kept with the order. */
export function orderStatus(shopUrl: string): WorkflowDefinitionInput {
  return {
    name: "Order status webhook with retries",
    trigger: {
      type: "row",
      table: "purchase",
      on: ["updated"],
      condition: "trigger.data.after.data.state != trigger.data.before.data.state",
    },
    start: "tell",
    nodes: [
      {
        id: "tell",
        block: "httpRequest",
        config: {
          method: "POST",
          url: `${shopUrl}/orders/{{ trigger.recordId }}/status`,
          body: {
            json: {
              order: "{{ trigger.recordId }}",
              state: "{{ trigger.data.after.data.state }}",
              amount: "{{ trigger.data.after.data.amount }}",
            },
          },
          successStatuses: [200, 409],
        },
        retry: { maxAttempts: 5, backoffSeconds: 1 },
      },
      { id: "known", block: "if", config: { condition: "steps.tell.status == 409" } },
      {
        id: "note",
        block: "rowUpdate",
        config: { table: "purchase", id: "{{ trigger.recordId }}", data: { told: "{{ trigger.data.after.data.state }}" } },
      },
    ],
    edges: [
      { from: "tell", to: "known" },
      { from: "known", branch: "then", to: null },
      { from: "known", branch: "else", to: "note" },
      { from: "note", to: null },
    ],
  };
}
