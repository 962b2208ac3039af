-- Which requeue of the event a consumer gave up on: a dead receipt of an earlier generation says nothing about the job of this one,
-- which may have been lost since. 0 for receipts from before the column, which are of events that were never requeued, or are told by hand.
ALTER TABLE "OutboxReceipt" ADD COLUMN "generation" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "OutboxReceipt" ADD CONSTRAINT "OutboxReceipt_generation_check" CHECK ("generation" >= 0);
