import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  PostgresDialect,
  type PostgresDialectConfig,
} from "kysely";

type Retries = <T>(read: () => Promise<T>) => Promise<T>;

/**
 * For queries that only read: each gets a connection of its own and is repeated when that is lost. Without transactions.
 */
export class ReadDialect extends PostgresDialect {
  constructor(
    config: PostgresDialectConfig,
    readonly retries: Retries,
  ) {
    super(config);
  }

  override createDriver(): Driver {
    const driver = super.createDriver();
    const retries = this.retries;
    const connection: DatabaseConnection = {
      executeQuery: <R>(query: CompiledQuery) =>
        retries(async () => {
          const own = await driver.acquireConnection();
          try {
            return await own.executeQuery<R>(query);
          } finally {
            await driver.releaseConnection(own);
          }
        }),
      streamQuery() {
        throw new Error("reads are not streamed");
      },
    };
    const noTransaction = async () => {
      throw new Error("transactions are opened by `write` and `snapshot` only");
    };
    return {
      init: () => driver.init(),
      acquireConnection: async () => connection,
      releaseConnection: async () => undefined,
      beginTransaction: noTransaction,
      commitTransaction: noTransaction,
      rollbackTransaction: noTransaction,
      destroy: () => driver.destroy(),
    };
  }
}
