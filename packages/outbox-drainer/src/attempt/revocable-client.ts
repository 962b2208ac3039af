import { CodedError } from "@toolctrl/foundation/errors";

/** A transaction client that can be taken away from its holder. */
export interface RevocableClient<Client extends object> {
  readonly client: Client;
  /** Every later call is refused with `reason`; those in flight go on. */
  revoke(reason?: Error): void;
  /** Resolves when no call is in flight any more; after `revoke` none follows. */
  drained(): Promise<void>;
}

type Method = (...args: unknown[]) => unknown;

/**
 * Wraps a Prisma transaction client. A handler that ends while it still has calls running, or makes more of them later, would otherwise
 * write after the rollback to the savepoint, and commit that with the retry: so ends `Promise.all` with one failing branch.
 *
 * Prisma's calls begin when they are awaited, so that is when they are counted and may be refused. Clients of nested transactions are
 * wrapped as well.
 *
 * @param onCall told how each call ended: with its error, or null
 */
export function createRevocableClient<Client extends object>(inner: Client, onCall: (error: unknown) => void): RevocableClient<Client> {
  const inFlight = new Set<Promise<unknown>>();
  let refusal: Error | undefined;

  function track(call: PromiseLike<unknown>): Promise<unknown> {
    const running = Promise.resolve(call);
    const ended = running.then(
      () => onCall(null),
      (error: unknown) => onCall(error),
    );
    inFlight.add(ended);
    void ended.finally(() => inFlight.delete(ended));
    return running;
  }

  /** A call that has not begun yet, or one that has: Prisma's are lazy, promises are not. */
  function guardCall(call: object): object {
    let running = call instanceof Promise ? track(call) : undefined;
    const begin = (): Promise<unknown> => {
      if (running === undefined && refusal !== undefined) return Promise.reject(refusal);
      return (running ??= track(call as PromiseLike<unknown>));
    };
    return new Proxy(call, {
      get(_target, name) {
        if (name === "then" || name === "catch" || name === "finally") {
          return (...args: unknown[]) => (begin()[name] as Method).apply(begin(), args);
        }
        const value: unknown = Reflect.get(call, name, call);
        return typeof value === "function" ? guardMethod(call, value as Method) : value;
      },
    });
  }

  function guardMethod(owner: object, method: Method): Method {
    return (...args) => {
      if (refusal !== undefined) throw refusal;
      const [first, ...rest] = args;
      const given = typeof first === "function" ? [guardCallback(first as Method), ...rest] : args;
      const result = method.apply(owner, given);
      return isThenable(result) ? guardCall(result) : result;
    };
  }

  /** `$transaction(callback)`: what the callback is given is a client again. */
  function guardCallback(callback: Method): Method {
    return (client, ...rest) => callback(typeof client === "object" && client !== null ? guardClient(client) : client, ...rest);
  }

  function guardClient<Inner extends object>(client: Inner): Inner {
    return guardObject(client, (name, value) => {
      if (typeof value === "function") return guardMethod(client, value as Method);
      const isModel = typeof value === "object" && value !== null && !name.startsWith("_") && !name.startsWith("$");
      return isModel ? guardModel(value) : value;
    });
  }

  function guardModel(model: object): object {
    return guardObject(model, (_name, value) => (typeof value === "function" ? guardMethod(model, value as Method) : value));
  }

  function revoke(reason = revoked()): void {
    refusal ??= reason;
  }
  async function drained(): Promise<void> {
    while (inFlight.size > 0) await Promise.all(inFlight);
  }
  return { client: guardClient(inner), revoke, drained };
}

// Over an empty target: the client's own properties may be such that a proxy over it must not answer otherwise.
function guardObject<Inner extends object>(inner: Inner, guard: (name: string, value: unknown) => unknown): Inner {
  return new Proxy(Object.create(null) as Inner, {
    get(_target, name) {
      const value: unknown = Reflect.get(inner, name, inner);
      return typeof name === "symbol" ? value : guard(name, value);
    },
    has: (_target, name) => Reflect.has(inner, name),
  });
}

function isThenable(value: unknown): value is object {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

function revoked(): CodedError {
  return new CodedError("EFFECT.REVOKED", "expected no call after the effect had ended, got one: its attempt is being settled");
}
