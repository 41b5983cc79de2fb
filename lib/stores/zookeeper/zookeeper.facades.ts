import type { ClientCalls, ClientRequest, Stat } from './zookeeper.client.js';

/** A node that was made. */
export interface Created {
  readonly path: string;
  /** Absent where the client's insides are not as expected. */
  readonly stat: Stat | undefined;
}

/** Of the protocol. The last two came with ZooKeeper 3.5; the library does not know them. */
const OPCODE = { create: 1, getData: 4, create2: 15, createContainer: 19 } as const;

/**
 * The same client without its `retries`: they would send a create again, seconds after it was given up and cleaned away. The client itself stays
 * as it is.
 */
export function withoutRetries(client: ClientCalls): ClientCalls {
  return Object.create(client, { options: { value: { ...client.options, retries: 0 } } }) as ClientCalls;
}

/** The same client, whose create() makes containers, or persistent nodes where its insides are not as expected. */
export function creatingContainers(client: ClientCalls): ClientCalls {
  // The answer is that of a create with something behind it.
  const facade = speaking(client, OPCODE.createContainer, OPCODE.create, (answer) => answer);
  if (facade) return facade;
  const create: ClientCalls['create'] = (path, data, acl, _mode, done) => {
    client.create(path, data, acl, 0, done);
  };
  return Object.create(client, { create: { value: create } }) as ClientCalls;
}

/** The same client, whose create() answers with a {@link Created}, or with a path where its insides are not as expected. */
export function tellingStats(client: ClientCalls): ClientCalls {
  // On the wire the answer, a text and a stat, looks like that to getData(), a buffer and a stat.
  const facade = speaking(client, OPCODE.create2, OPCODE.getData, (answer) => {
    const { data, stat } = (answer as { payload: { data: Buffer; stat: Stat } }).payload;
    const created: Created = { path: data.toString(), stat };
    return { payload: { path: created } };
  });
  return facade ?? client;
}

/**
 * A client whose create() is another request on the wire: its bytes say `asked`, and its answer is read as one to `read`, then changed by `convert`.
 */
function speaking(
  client: ClientCalls,
  asked: number,
  read: number,
  convert: (answer: unknown) => unknown,
): ClientCalls | undefined {
  const manager = client.connectionManager;
  const send = manager?.queue?.bind(manager);
  if (send === undefined) return undefined;
  const queue = (request: ClientRequest, done: (error: unknown, answer: unknown) => void): void => {
    const toBuffer = request.toBuffer.bind(request);
    request.toBuffer = () => {
      request.header.type = asked;
      const buffer = toBuffer();
      request.header.type = read;
      return buffer;
    };
    send(request, (error, answer) => {
      if (error) done(error, answer);
      else done(error, convert(answer));
    });
  };
  return Object.create(client, { connectionManager: { value: { queue } } }) as ClientCalls;
}
