import type {
  ConnectionInfo,
  IsolationLevel,
  SqlDriverAdapter,
  SqlDriverAdapterFactory,
  SqlQuery,
  SqlResultSet,
  Transaction,
  TransactionOptions,
} from "@prisma/driver-adapter-utils";
import { insertsOutboxEvent } from "./publish-hint.ts";
import { transactionAborted } from "./transaction-aborted.ts";

/**
 * Wraps a driver adapter so that `onPublished` is called after the commit of each transaction that inserted an outbox event, and
 * so that a commit which can only be a rollback is an error.
 *
 * `onPublished` must neither block nor throw.
 */
export function withCommitHook(factory: SqlDriverAdapterFactory, onPublished: () => void): SqlDriverAdapterFactory {
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    connect: async () => new HookedAdapter(await factory.connect(), onPublished),
  };
}

class HookedAdapter implements SqlDriverAdapter {
  readonly #inner: SqlDriverAdapter;
  readonly #onPublished: () => void;

  constructor(inner: SqlDriverAdapter, onPublished: () => void) {
    this.#inner = inner;
    this.#onPublished = onPublished;
  }

  get provider(): SqlDriverAdapter["provider"] {
    return this.#inner.provider;
  }

  get adapterName(): SqlDriverAdapter["adapterName"] {
    return this.#inner.adapterName;
  }

  queryRaw(query: SqlQuery): Promise<SqlResultSet> {
    return this.#inner.queryRaw(query);
  }

  executeRaw(query: SqlQuery): Promise<number> {
    return this.#inner.executeRaw(query);
  }

  executeScript(script: string): Promise<void> {
    return this.#inner.executeScript(script);
  }

  async startTransaction(isolationLevel?: IsolationLevel): Promise<Transaction> {
    return new HookedTransaction(await this.#inner.startTransaction(isolationLevel), this.#onPublished);
  }

  getConnectionInfo(): ConnectionInfo {
    return this.#inner.getConnectionInfo?.() ?? { supportsRelationJoins: true };
  }

  dispose(): Promise<void> {
    return this.#inner.dispose();
  }
}

class HookedTransaction implements Transaction {
  readonly #inner: Transaction;
  readonly #onPublished: () => void;
  #published = false;
  /** The error of the last statement, when it failed. An aborted transaction runs nothing more, so a later success clears it. */
  #failure: { readonly error: unknown } | undefined;

  constructor(inner: Transaction, onPublished: () => void) {
    this.#inner = inner;
    this.#onPublished = onPublished;
  }

  get provider(): Transaction["provider"] {
    return this.#inner.provider;
  }

  get adapterName(): Transaction["adapterName"] {
    return this.#inner.adapterName;
  }

  get options(): TransactionOptions {
    return this.#inner.options;
  }

  queryRaw(query: SqlQuery): Promise<SqlResultSet> {
    return this.#watch(query, () => this.#inner.queryRaw(query));
  }

  async executeRaw(query: SqlQuery): Promise<number> {
    if (query.sql === "COMMIT" && this.#failure !== undefined) await this.#refuseHiddenRollback(this.#failure.error);
    return this.#watch(query, () => this.#inner.executeRaw(query));
  }

  async commit(): Promise<void> {
    await this.#inner.commit();
    if (this.#published) this.#onPublished();
  }

  rollback(): Promise<void> {
    return this.#inner.rollback();
  }

  async createSavepoint(name: string): Promise<void> {
    await this.#inner.createSavepoint?.(name);
  }

  async rollbackToSavepoint(name: string): Promise<void> {
    await this.#inner.rollbackToSavepoint?.(name);
    this.#failure = undefined;
  }

  async releaseSavepoint(name: string): Promise<void> {
    await this.#inner.releaseSavepoint?.(name);
  }

  async #watch<T>(query: SqlQuery, run: () => Promise<T>): Promise<T> {
    try {
      const result = await run();
      this.#failure = undefined;
      if (!this.#published && insertsOutboxEvent(query.sql)) this.#published = true;
      return result;
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  // Not every failure aborts the transaction (a result may be unreadable), so the database is asked: one round trip, in the rare case.
  async #refuseHiddenRollback(cause: unknown): Promise<void> {
    try {
      await this.#inner.executeRaw({ sql: "SELECT 1", args: [], argTypes: [] });
    } catch {
      await this.#inner.executeRaw({ sql: "ROLLBACK", args: [], argTypes: [] });
      throw transactionAborted(cause);
    }
  }
}
