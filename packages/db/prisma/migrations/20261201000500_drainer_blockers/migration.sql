-- What keeps a process from running pull workers, in its own words; NULL until it has said so. Beside its vote, so that one decision
-- over this table is everybody's: processes that judged for each other would turn the mode to and fro.
ALTER TABLE "OutboxDrainer" ADD COLUMN "blockers" TEXT[];

COMMENT ON INDEX "OutboxEvent_parked_idx" IS 'blocked lines: parked heads, WHERE status = FAILED AND blocksLine ORDER BY tenantId, recordKey, position';
