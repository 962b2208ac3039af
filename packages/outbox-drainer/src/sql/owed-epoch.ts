/**
 * The condition under which a receipt can say of its consumer that it has finished: one that is replayed owes a receipt of the replay's
 * epoch, any other one of any epoch. `event` is the alias of what has the event's "replayConsumer" and "effectEpoch".
 */
export const isOfOwedEpoch = (receipt: string, consumer: string, event: string): string =>
  `(${consumer} IS DISTINCT FROM ${event}."replayConsumer" OR ${receipt}."effectEpoch" = ${event}."effectEpoch")`;
