/** Where a server is, without any user name or password. */
export function addressOf(settings: unknown): string {
  const { uri, host, port, database, socketPath } = Object(settings) as Record<string, unknown>;
  if (typeof uri === 'string' && URL.canParse(uri)) {
    const url = new URL(uri);
    return place(url.hostname, url.port, url.pathname.slice(1));
  }
  return typeof socketPath === 'string' ? place(socketPath, undefined, database) : place(host, port ?? '', database);
}

function place(host: unknown, port: unknown, database: unknown): string {
  const name = typeof host === 'string' && host ? host : 'localhost';
  const number = typeof port === 'number' || (typeof port === 'string' && port) ? Number(port) : 3306;
  return `${name}${port === undefined ? '' : `:${number}`}${typeof database === 'string' && database ? `/${database}` : ''}`;
}
