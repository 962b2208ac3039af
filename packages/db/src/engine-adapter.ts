import { PrismaPg } from "@prisma/adapter-pg";
import { ColumnTypeEnum, type SqlDriverAdapter, type SqlMigrationAwareDriverAdapterFactory } from "@prisma/driver-adapter-utils";
import pg from "pg";

const CHAR_OID = 18;
const CHAR_ARRAY_OID = 1002;

/**
 * The official adapter on one given connection, with two repairs that the migration engine needs.
 * @param onScriptError told what a migration met: the engine reports it by a number, or the aborted transaction that followed
 */
export function engineAdapterFactory(
  client: pg.ClientBase,
  onScriptError: (error: unknown) => void,
): SqlMigrationAwareDriverAdapterFactory {
  // The adapter accepts only a pool; this one never opens a connection of its own.
  const pool = new pg.Pool();
  Object.defineProperty(pool, "query", { value: (config: pg.QueryConfig) => disguiseChars(client, config) });
  const factory = new PrismaPg(pool);
  const connect = async (): Promise<SqlDriverAdapter> => {
    const adapter = await factory.connect();
    const queryRaw = adapter.queryRaw.bind(adapter);
    adapter.queryRaw = async (query) => {
      const result = await queryRaw(query);
      const columnTypes = result.columnTypes.map((type) => (type === ColumnTypeEnum.CharacterArray ? ColumnTypeEnum.Character : type));
      return { ...result, columnTypes };
    };
    // The adapter would cut the script at every semicolon, inside quotes and function bodies too.
    adapter.executeScript = async (script) => {
      await client.query(script).catch((error: unknown) => {
        onScriptError(error);
        throw error;
      });
    };
    return adapter;
  };
  const refuseShadow = (): Promise<never> => Promise.reject(new Error("expected the engine to work without a shadow database"));
  return { provider: factory.provider, adapterName: factory.adapterName, connect, connectToShadowDb: refuseShadow };
}

// The adapter refuses "char", the one-byte type of the system catalogues, which the engine reads to describe a schema. It passes as
// an array type that no query of the engine has, and gets its own name back afterwards.
async function disguiseChars(client: pg.ClientBase, config: pg.QueryConfig): Promise<pg.QueryResult> {
  const result = await client.query(config);
  for (const field of result.fields) if (field.dataTypeID === CHAR_OID) field.dataTypeID = CHAR_ARRAY_OID;
  return result;
}
