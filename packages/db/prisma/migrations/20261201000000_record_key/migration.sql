-- The line an event stands in: events of one (tenant, record key) take effect in insert order.
--
-- Additive and safe under traffic: publishers that do not know the column yet, and sessions that cached "there is no such column", go on;
-- the trigger derives the key for them, by the rule of foundation/record-key.ts. Old rows get theirs from the backfill, after which the
-- constraint is validated: "backfilled" is `convalidated`.

ALTER TABLE "OutboxEvent" ADD COLUMN "recordKey" TEXT;

CREATE FUNCTION "outboxRecordKey"(payload JSONB, id UUID) RETURNS TEXT LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN jsonb_typeof(payload) = 'object'
      AND jsonb_typeof(payload -> 'object') = 'string' AND jsonb_typeof(payload -> 'recordId') = 'string'
      AND payload ->> 'object' ~ '^[A-Za-z][A-Za-z0-9_-]{0,63}$'
      AND char_length(payload ->> 'recordId') BETWEEN 1 AND 190
    THEN (payload ->> 'object') || '/' || (payload ->> 'recordId')
    ELSE id::text
  END
$$;

CREATE FUNCTION "outboxSetRecordKey"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW."recordKey" := "outboxRecordKey"(NEW."payload", NEW."id");
  RETURN NEW;
END $$;

CREATE TRIGGER "OutboxEvent_recordKey" BEFORE INSERT OR UPDATE ON "OutboxEvent"
  FOR EACH ROW WHEN (NEW."recordKey" IS NULL) EXECUTE FUNCTION "outboxSetRecordKey"();

ALTER TABLE "OutboxEvent" ADD CONSTRAINT "OutboxEvent_recordKey_check" CHECK ("recordKey" IS NOT NULL) NOT VALID;

-- A new installation has nothing to fill in. Only a table that never had a page is asked: a scan would keep the lock on a large one.
DO $$
BEGIN
  IF pg_relation_size('"OutboxEvent"') = 0 THEN
    ALTER TABLE "OutboxEvent" VALIDATE CONSTRAINT "OutboxEvent_recordKey_check";
  END IF;
END $$;
