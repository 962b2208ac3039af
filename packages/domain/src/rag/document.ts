/** Which document: one per record of a tenant's collection. */
export interface DocumentKey {
  readonly tenantId: string;
  readonly collection: string;
  readonly recordId: string;
}

/** The event that changes a document. Of two, the one with the higher position decides; of one event, its last repeat. */
export interface ChangingEvent {
  readonly eventId: string;
  /** The decimal text of a bigint. */
  readonly position: string;
  readonly effectEpoch: number;
}

/** What is kept of a document besides its chunks. */
export interface DocumentContent {
  readonly title: string;
  readonly language: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}
