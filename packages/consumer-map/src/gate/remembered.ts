/**
 * Asks at most once in `ms`, and gives the last answer in between: the switch asks every two seconds, and what changes with a deployment
 * or by somebody's hand need not be looked up as often. A question that fails is asked again.
 */
export function remembered<T>(ask: () => Promise<T>, ms: number, now: () => number = () => performance.now()): () => Promise<T> {
  let last: { readonly answer: T; readonly at: number } | null = null;
  return async () => {
    if (last !== null && now() - last.at < ms) return last.answer;
    const at = now();
    const answer = await ask();
    last = { answer, at };
    return answer;
  };
}
