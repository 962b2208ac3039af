export { withOutboxIdempotency } from "@toolctrl/outbox-receiver/idempotency";
export { withOutboxReceipt } from "./with-outbox-receipt.ts";
