-- Apart from the indexes themselves: a file with CONCURRENTLY holds one statement.
COMMENT ON INDEX "OutboxEvent_line_idx" IS 'eligibility: is there an older event that holds this line? WHERE tenantId = $1 AND recordKey = $2 AND position < $3 AND blocksLine; the head of a line ORDER BY position; lines with more than one';
COMMENT ON INDEX "OutboxEvent_in_flight_key" IS 'pull claim: UPDATE ... SET status = PROCESSING, claimMode = pull; unique, so that of one line one event is in flight';
