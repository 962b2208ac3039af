/** Does something with each item, at most `atOnce` at a time; the results are in the items' order. Throws the first failure, when all has ended. */
export async function inTurns<T, R>(items: readonly T[], atOnce: number, work: (item: T, index: number) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const left = items.map((item, index) => ({ item, index })).values();
  const workOn = async (): Promise<void> => {
    for (const { item, index } of left) results[index] = await work(item, index);
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(atOnce, items.length) }, workOn));
  const failure = ends.find((end) => end.status === "rejected");
  if (failure !== undefined) throw failure.reason;
  return results;
}
