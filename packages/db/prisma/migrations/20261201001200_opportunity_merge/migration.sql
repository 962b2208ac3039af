-- Clears the way for the unique key: the opportunities of leads that were converted twice are merged by the documented rule.
-- What an old publisher doubles between this and the key makes the key's build stop with the lead's id. Then `toolctrl-cli leads dedupe`
-- merges those, and the next `db migrate` builds the key.
SELECT count(*) FROM "mergeDuplicateOpportunities"(2147483647, false);
