export { backfillRecordKeys, type BackfillOptions, type BackfillReport } from "./backfill-record-keys.ts";
export { countRecordKeys, type RecordKeyCounts } from "./count-record-keys.ts";
export { recordKeyReady, type RecordKeyReadiness } from "./record-key-ready.ts";
