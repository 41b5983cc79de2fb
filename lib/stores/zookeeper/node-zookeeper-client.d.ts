/** The package comes without types. Only what is used here and in the tests. */
declare module 'node-zookeeper-client' {
  export class Id {
    constructor(scheme: string, id: string);
    static readonly AUTH_IDS: Id;
  }

  export class ACL {
    constructor(permission: number, id: Id);
    toRecord(): object;
    static readonly OPEN_ACL_UNSAFE: ACL[];
    static readonly CREATOR_ALL_ACL: ACL[];
  }

  export interface Exception extends Error {
    readonly code: number;
    getCode(): number;
  }

  export interface Stat {
    readonly czxid: Buffer;
    readonly ephemeralOwner: Buffer;
    readonly version: number;
    readonly numChildren: number;
  }

  export interface Event {
    getType(): number;
  }

  export interface Transaction {
    check(path: string, version?: number): this;
    create(path: string, data?: Buffer): this;
    setData(path: string, data: Buffer, version?: number): this;
    remove(path: string, version?: number): this;
    commit(callback: (error: Exception | null | undefined, results: unknown) => void): void;
  }

  export interface Client {
    readonly connectionManager: object;
    connect(): void;
    close(): void;
    getState(): { readonly name: string; readonly code: number };
    getSessionId(): Buffer;
    getSessionTimeout(): number;
    addAuthInfo(scheme: string, auth: Buffer): void;
    create(
      path: string,
      data: Buffer | undefined,
      acls: ACL[] | undefined,
      mode: number | undefined,
      callback: (error: Exception | null, path: string) => void,
    ): void;
    remove(path: string, version: number, callback: (error: Exception | null) => void): void;
    setData(path: string, data: Buffer, version: number, callback: (error: Exception | null) => void): void;
    getData(
      path: string,
      watcher: ((event: Event) => void) | undefined,
      callback: (error: Exception | null, data: Buffer | undefined, stat: Stat) => void,
    ): void;
    exists(path: string, callback: (error: Exception | null, stat: Stat | null) => void): void;
    getACL(path: string, callback: (error: Exception | null, acls: ACL[], stat: Stat) => void): void;
    getChildren(
      path: string,
      watcher: ((event: Event) => void) | undefined,
      callback: (error: Exception | null, children: string[], stat: Stat) => void,
    ): void;
    transaction(): Transaction;
    on(event: string, listener: (...args: never[]) => void): this;
    once(event: string, listener: (...args: never[]) => void): this;
    removeListener(event: string, listener: (...args: never[]) => void): this;
    listenerCount(event: string): number;
  }

  export function createClient(connectionString: string, options?: object): Client;
}
