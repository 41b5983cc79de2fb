import * as common from '@nestjs/common';
import { HttpException, Logger, type ExecutionContext } from '@nestjs/common';
import { STATUS_CODES } from 'node:http';
import { isLockError, type LockError } from '../errors/index.js';
import { standIn } from '../errors/stand-in.js';
import type { LockErrorAnswer } from './lock.handling.js';

const logger = new Logger('LockInterceptor');

/** What has been through here already: where two interceptors stand around one handler, the inner one decides. */
const answered = new WeakSet();

/** How the packages of the transports are loaded. */
const packages = {
  ws: async () => (await import('@nestjs/websockets')).WsException,
  rpc: async () => (await import('@nestjs/microservices')).RpcException,
};

/** What a handler raises in the place of an error. Anything but a lock error stays as it is. */
export async function raisedFor(
  error: unknown,
  context: ExecutionContext,
  answer: LockErrorAnswer | undefined,
): Promise<unknown> {
  if (!isLockError(error) || answered.has(error)) return error;
  const raised = (await answer?.(error, context)) ?? (await exceptionFor(error, context));
  if (typeof raised === 'object') answered.add(raised);
  return raised;
}

/**
 * The exception of the context's transport that stands for a lock error: its filters know their own exceptions alone,
 * call everything else an internal error, and log that with its stack.
 */
async function exceptionFor(error: LockError, context: ExecutionContext): Promise<Error> {
  switch (context.getType<string>()) {
    case 'http':
      // Nest answers with the status of the error itself, and a mistake in the code belongs in its log.
      return isMistake(error) ? error : httpException(error);
    case 'graphql':
      return logged(graphqlError(error), error);
    case 'ws':
      return transportException('ws', error);
    case 'rpc':
      // Nobody waits for the answer to an event: what would be sent is logged instead, so it should say everything.
      return isEvent(context) ? error : transportException('rpc', error);
    default:
      return error;
  }
}

function httpException(error: LockError): HttpException {
  const { statusCode } = error;
  return standIn(new HttpException({ statusCode, message: publicText(error) }, statusCode), error);
}

// graphql takes the extensions of whatever error it meets.
function graphqlError(error: LockError): Error {
  const { code, message, ...others } = publicFields(error);
  return standIn(Object.assign(new QuietError(message), { extensions: { code, ...others } }), error);
}

async function transportException(transport: 'ws' | 'rpc', error: LockError): Promise<Error> {
  // Where the package cannot be found from here, as in some bundles, Nest's filter makes an internal error of it.
  const Exception = await packages[transport]().catch(() => undefined);
  if (Exception === undefined) return error;
  return logged(standIn(new Exception({ status: 'error', ...publicFields(error) }), error), error);
}

function logged(exception: Error, error: LockError): Error {
  if (isMistake(error)) logger.error(error);
  return exception;
}

/** Rather a bug or a lost lock than the daily life of locks. */
function isMistake({ statusCode }: LockError): boolean {
  return statusCode === 500;
}

/** What any client may know: never a key, a holder or a cause. */
function publicFields(error: LockError) {
  const { code, retryAfter } = error as LockError & { readonly retryAfter?: number };
  return { code, message: publicText(error), ...(retryAfter !== undefined && { retryAfter }) };
}

function publicText({ statusCode }: LockError): string {
  return STATUS_CODES[statusCode] ?? 'Error';
}

function isEvent(context: ExecutionContext): boolean {
  const EVENT = 2;
  return Reflect.getMetadata('microservices:handler_type', context.getHandler()) === EVENT;
}

// Nest 10 has no such class, and logs what is not worth a line.
const QuietError = (common as { IntrinsicException?: new (message: string) => Error }).IntrinsicException ?? Error;
