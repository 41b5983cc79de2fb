import { describe, expect, it } from '@jest/globals';
import { Etcd3 } from 'etcd3';
import { etcdStore, type EtcdStoreOptions } from '../../../lib/stores/etcd/index.js';

const hosts = 'http://localhost:2379';

function problem(options: unknown): string {
  try {
    etcdStore(options as EtcdStoreOptions);
  } catch (error) {
    expect(error).toMatchObject({ code: 'LOCK_OPTIONS' });
    return (error as Error).message;
  }
  return '';
}

describe('etcdStore()', () => {
  const client = new Etcd3({ hosts });

  it.each([
    [undefined, 'the options are undefined'],
    [{}, 'neither client nor hosts'],
    [{ hosts, client: {} }, 'both client and hosts'],
    [{ hosts, host: 'x' }, 'there is no option "host"'],
    [{ client: {} }, 'client is an object (Object), but must be an `Etcd3`'],
    [{ client: client.namespace('app/') }, 'a namespace of a client'],
    [{ client, auth: { username: 'a', password: 'hunter2' } }, 'auth is for hosts'],
    [{ hosts: [] }, 'hosts is empty'],
    [{ hosts: 7 }, 'hosts has 7'],
    [{ hosts: 'localhost' }, 'not like http://localhost:2379'],
    [{ hosts: 'http://app:hunter2@localhost:2379' }, 'not like http://localhost:2379'],
    [{ hosts: ['https://a:2379', 'b:2379'] }, 'mixes https:'],
    [{ hosts, credentials: { rootCertificate: Buffer.from('x') } }, "Use 'https:'"],
    [{ hosts: 'https://a:2379', credentials: { rootCertificate: 'pem' } }, 'must be a Buffer'],
    [{ hosts, auth: { username: 'app' } }, 'auth.password'],
    [{ hosts, auth: 'app:hunter2' }, 'auth must be an object'],
    [{ hosts, options: 7 }, 'options must be an object'],
    [{ hosts, prefix: '' }, "prefix is ''"],
    [{ hosts, prefix: 'a/' }, "prefix is 'a/'"],
    [{ hosts, prefix: '\ud800' }, 'prefix is'],
    [{ hosts, commandTimeout: 5 }, 'commandTimeout is 5'],
    [{ hosts, pollInterval: 'often' }, "pollInterval is 'often'"],
    [{ hosts, connectTimeout: -1 }, 'connectTimeout is -1'],
  ])('refuses %p', (options, message) => {
    expect(problem(options)).toContain(message);
    expect(problem(options)).toContain('etcdStore');
    expect(problem(options)).not.toContain('hunter2');
  });

  it.each([
    [{ hosts }],
    [{ hosts: ['a:2379', 'http://b:2379', '10.0.0.1:1', '[::1]:2379'] }],
    [{ hosts: 'https://a:2379/', credentials: { rootCertificate: Buffer.from('x') } }],
    [{ hosts, auth: { username: 'app', password: 'hunter2' }, options: { grpcOptions: {} } }],
    [{ hosts, prefix: 'prod/ключ lock', commandTimeout: '1s', pollInterval: 1_000, connectTimeout: '1m' }],
    [{ client }],
  ])('takes %p without connecting', (options) => {
    expect(problem(options)).toBe('');
  });

  it('says what it promises', () => {
    expect(etcdStore({ hosts }).guarantees).toEqual({
      ownership: true,
      fencing: 'per-key',
      survivesFailover: true,
      fifo: true,
      reach: 'network',
      expiry: 'session',
      wakeUp: 'push',
    });
    expect(etcdStore({ hosts }).renew).toBeUndefined();
  });
});
