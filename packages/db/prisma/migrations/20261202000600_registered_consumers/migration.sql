-- The consumers that a process works its queues with; NULL where it has not said. Beside the queues, because a queue that has a worker
-- may have another one than the consumer that the map knows.
ALTER TABLE "OutboxDrainer" ADD COLUMN "consumers" TEXT[];
