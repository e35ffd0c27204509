// The part of each peer's API that peers.ts uses. Peers are installed by `npm run bench` alone
// (bench/package.json), and type checking must also work before that.

declare module "bullmq" {
  type Options = { connection: { host: string; port: number; maxRetriesPerRequest: null } };

  export class Queue {
    constructor(name: string, options: Options);
    addBulk(jobs: { name: string; data: object }[]): Promise<unknown>;
    close(): Promise<void>;
  }

  export class Worker {
    constructor(
      name: string,
      process: () => Promise<void>,
      options: Options & { concurrency: number; removeOnComplete: { count: number } },
    );
    on(event: "completed" | "error", listener: () => void): this;
    close(): Promise<void>;
  }
}

declare module "graphile-worker" {
  type Connection = { connectionString: string; logger: Logger };

  export class Logger {
    constructor(factory: () => () => void);
  }

  export interface WorkerEvents {
    on(event: "worker:getJob:start" | "job:start", listener: (of: { worker: { workerId: string } }) => void): this;
    on(event: "job:complete", listener: () => void): this;
  }

  export function makeWorkerUtils(options: Connection): Promise<{
    migrate(): Promise<void>;
    withPgClient<T>(work: (client: import("pg").ClientBase) => Promise<T>): Promise<T>;
    release(): Promise<void>;
  }>;

  export function run(
    options: Connection & {
      concurrency: number;
      maxPoolSize: number;
      noHandleSignals: boolean;
      events: WorkerEvents;
      taskList: Record<string, () => void>;
      preset: {
        worker: { localQueue?: { size: number }; completeJobBatchDelay?: number; failJobBatchDelay?: number };
      };
    },
  ): Promise<{ stop(): Promise<void> }>;
}

declare module "pg-boss" {
  export default class PgBoss {
    constructor(options: { connectionString: string; supervise: boolean; schedule: boolean });
    on(event: "error", listener: () => void): this;
    start(): Promise<unknown>;
    stop(options: { graceful: boolean; wait: boolean }): Promise<void>;
    createQueue(name: string): Promise<void>;
    insert(jobs: { name: string }[]): Promise<unknown>;
    fetch(name: string, options: { batchSize: number }): Promise<{ id: string }[]>;
    complete(name: string, ids: string[]): Promise<unknown>;
  }
}

declare module "gpt-tokenizer" {
  export function countTokens(text: string): number;
}
