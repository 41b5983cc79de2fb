import { ClientProxyFactory, type ClientProxy, type MicroserviceOptions } from '@nestjs/microservices';

export type Client = Pick<ClientProxy, 'connect' | 'close' | 'send' | 'emit'>;

/** A client for what a microservice listens to. */
export function clientOf(transport: MicroserviceOptions): Client {
  return ClientProxyFactory.create(transport as never);
}
