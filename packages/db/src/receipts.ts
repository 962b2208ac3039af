export { createGroupedReceipts } from "./grouped-receipts.ts";
export { type ConsumerKey, createReceiptAuthority, type ReceiptScope } from "./receipt-authority.ts";
export { listReceipts, type Receipt } from "./list-receipts.ts";
export { recordDead } from "./record-dead.ts";
export { takeUpDeath } from "./take-up-death.ts";
