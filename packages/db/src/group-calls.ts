/** How calls that come at the same time become one. */
export interface GroupOptions<Request, Answer> {
  /** Answers all requests of a group in one step, in their order. When it throws, nothing of it may have happened. */
  readonly askMany: (requests: readonly Request[]) => Promise<readonly Answer[]>;
  readonly askOne: (request: Request) => Promise<Answer>;
  /** Whether each request of a failed group is to be asked for alone: so where one of them may have been the cause. */
  readonly isAboutOne: (error: unknown) => boolean;
  /** Size of a request, bytes. */
  readonly bytesOf: (request: Request) => number;
  readonly maxRequests: number;
  readonly maxBytes: number;
  /** Groups under way at once. */
  readonly maxGroups: number;
}

interface Call<Request, Answer> {
  readonly request: Request;
  readonly resolve: (answer: Answer | Promise<Answer>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Makes a function whose calls share round trips. A call that finds a free place goes out at the end of the present turn of the event
 * loop; those that come while all places are taken go out together as soon as one is free. So nobody waits for company, and each call
 * is answered only when its own request is.
 *
 * A group that fails is taken apart, so that one bad request fails alone.
 */
export function groupCalls<Request, Answer>(options: GroupOptions<Request, Answer>): (request: Request) => Promise<Answer> {
  const waiting: Call<Request, Answer>[] = [];
  let groups = 0;
  let planned = false;

  function plan(): void {
    if (planned || waiting.length === 0 || groups >= options.maxGroups) return;
    planned = true;
    setImmediate(() => {
      planned = false;
      const calls = takeGroup(waiting, options);
      groups += 1;
      void ask(calls);
      plan();
    });
  }

  async function ask(calls: readonly Call<Request, Answer>[]): Promise<void> {
    const outcome = await askTogether(
      calls.map((call) => call.request),
      options,
    );
    // Free before a failed group is asked one by one: what is slow there must not hold up the calls behind it.
    groups -= 1;
    plan();
    for (const [index, { request, resolve, reject }] of calls.entries()) {
      if ("answers" in outcome) resolve(outcome.answers[index] as Answer);
      else if (calls.length > 1 && options.isAboutOne(outcome.error)) resolve(options.askOne(request));
      else reject(outcome.error);
    }
  }

  return (request) =>
    new Promise((resolve, reject) => {
      waiting.push({ request, resolve, reject });
      plan();
    });
}

function takeGroup<Request, Answer>(waiting: Call<Request, Answer>[], options: GroupOptions<Request, Answer>): Call<Request, Answer>[] {
  let bytes = 0;
  const end = waiting.findIndex(({ request }, index) => {
    bytes += options.bytesOf(request);
    return index >= options.maxRequests || (index > 0 && bytes > options.maxBytes);
  });
  return waiting.splice(0, end === -1 ? waiting.length : end);
}

async function askTogether<Request, Answer>(
  requests: readonly Request[],
  { askOne, askMany }: GroupOptions<Request, Answer>,
): Promise<{ readonly answers: readonly Answer[] } | { readonly error: unknown }> {
  try {
    const [first] = requests;
    return { answers: requests.length === 1 ? [await askOne(first as Request)] : await askMany(requests) };
  } catch (error) {
    return { error };
  }
}
