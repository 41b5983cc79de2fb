import type { INestApplication } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { once } from 'node:events';
import { get } from 'node:http';
import { connect, constants } from 'node:http2';
import type { Readable } from 'node:stream';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

export interface Exchange {
  /** Never comes when the client leaves first. */
  readonly answer: Promise<Answer>;
  /** Resolves with the first piece of the body. */
  readonly begun: Promise<void>;
  /** The client goes without waiting any longer. */
  leave(): void;
}

export interface Platform {
  adapter(): object;
  open(url: string, path: string): Exchange;
}

/** Express and Fastify over HTTP/1, and Fastify over HTTP/2 without TLS. */
export const platforms: [string, Platform][] = [
  ['Express', { adapter: () => new ExpressAdapter(), open: overHttp1 }],
  ['Fastify', { adapter: () => new FastifyAdapter(), open: overHttp1 }],
  ['Fastify with HTTP/2', { adapter: () => new FastifyAdapter({ http2: true } as object), open: overHttp2 }],
];

export async function listen(app: INestApplication): Promise<string> {
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as { port: number };
  return `http://127.0.0.1:${port}`;
}

function overHttp1(url: string, path: string): Exchange {
  const request = get(`${url}/${path}`, { agent: false });
  const begun = deferred();
  const answer = (async () => {
    const [response] = (await once(request, 'response')) as [Readable & { statusCode: number; headers: object }];
    const body = await text(response, begun.resolve);
    return { status: response.statusCode, headers: response.headers as Answer['headers'], body };
  })();
  return exchange(answer, begun.promise, () => request.destroy());
}

function overHttp2(url: string, path: string): Exchange {
  const session = connect(url);
  const stream = session.request({ ':path': `/${path}` });
  const begun = deferred();
  const answer = (async () => {
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    const body = await text(stream, begun.resolve);
    session.close();
    return { status: headers[':status'] as number, headers, body };
  })();
  return exchange(answer, begun.promise, () => {
    // As a browser does that cancels a request.
    stream.close(constants.NGHTTP2_CANCEL);
    session.close();
  });
}

function exchange(answer: Promise<Answer>, begun: Promise<void>, leave: () => void): Exchange {
  // Whoever leaves does not look at it.
  answer.catch(() => undefined);
  return { answer, begun, leave };
}

async function text(stream: Readable, begun: () => void): Promise<string> {
  let body = '';
  for await (const chunk of stream) {
    body += String(chunk);
    begun();
  }
  return body;
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve!: () => void;
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}
