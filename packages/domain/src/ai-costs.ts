/** What calls of models cost: an append-only ledger, written by `ai-cost-record`, and its sums by day. */
export { aiCostFor, type AiCost } from "./ai-costs/ai-cost-for.ts";
export { readAiCosts, type AiCostDay, type AiCostRange } from "./ai-costs/read-ai-costs.ts";
export { recordAiCost, type AiCostSource } from "./ai-costs/record-ai-cost.ts";
