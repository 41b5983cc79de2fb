import { DistributedLock, LockKey } from 'nestjs-distributed-lock';
import { EMPTY, type Observable } from 'rxjs';

interface Order {
  readonly id: string;
}

export class Orders {
  @DistributedLock('order:<id>', { wait: '5s', ttl: 1000 })
  async template(id: string): Promise<string> {
    return id;
  }

  @DistributedLock(['a:<from>', 'a:<to>'], { onContended: 'skip' })
  async several(_from: string, _to: string): Promise<void> {}

  @DistributedLock((order: Order) => `order:${order.id}`)
  async keyFunction(_order: Order, _more: number): Promise<void> {}

  @DistributedLock((id: string) => [`a:${id}`, `b:${id}`], { condition: (id) => id !== '' })
  async optionalParameter(_id: string, _note?: string): Promise<void> {}

  @DistributedLock(() => 'all')
  async noArguments(_order: Order): Promise<void> {}

  @DistributedLock('feed')
  stream(): Observable<string> {
    return EMPTY;
  }

  @DistributedLock('feed')
  async *iterate(): AsyncGenerator<string> {}

  @DistributedLock('job')
  job(): void {}

  @DistributedLock('generic:<key>')
  async generic<T>(_key: string, value: T): Promise<T> {
    return value;
  }

  @DistributedLock('order:<id>')
  async marked(@LockKey('id') _a: string): Promise<void> {}

  // @ts-expect-error the key function takes a number, the method gets a string
  @DistributedLock((id: number) => `order:${id}`)
  async wrongType(_id: string): Promise<void> {}

  // @ts-expect-error the key function takes two arguments, the method only gets one
  @DistributedLock((id: string, line: number) => `order:${id}:${line}`)
  async tooFew(_id: string): Promise<void> {}

  // @ts-expect-error the key function may get undefined
  @DistributedLock((id: string) => `order:${id.length}`)
  async maybe(_id?: string): Promise<void> {}

  // @ts-expect-error a key is text
  @DistributedLock((id: number) => id)
  async notText(_id: number): Promise<void> {}

  // @ts-expect-error a locked method cannot answer at once
  @DistributedLock('sync')
  sync(): string {
    return '';
  }

  // @ts-expect-error there is no such option
  @DistributedLock('typo', { timeout: 5 })
  async typo(): Promise<void> {}

  // @ts-expect-error there is no such unit
  @DistributedLock('unit', { onContended: 'ignore' })
  async policy(): Promise<void> {}
}
