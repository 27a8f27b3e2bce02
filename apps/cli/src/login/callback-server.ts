import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIPv6, type AddressInfo } from 'node:net';
import { causeOf, CommandFailure } from '../failure.js';

const PATH = '/oidc/callback';
/** Milliseconds after which a connection that the browser keeps open is closed, so that the command can end. */
const HEADERS_TIMEOUT_MS = 10_000;

/** The parameters with which the provider redirected the browser. */
export interface Callback {
  readonly state: string;
  readonly code: string;
  /** Issuer of the response. Empty if the provider sent none. */
  readonly issuer: string;
}

/** The provider or the user refused the login. */
export class LoginRefused extends Error {
  override readonly name = 'LoginRefused';
}

/**
 * Waits on this machine for the browser's redirect from a provider (AU-292, AU-294). It accepts `/oidc/callback` once,
 * with the state with which the login started. It refuses any other request, and the login continues.
 */
export class CallbackServer {
  private constructor(
    private readonly server: Server,
    /** Address to which the provider redirects the browser. */
    readonly redirectUri: string,
  ) {}

  /** @param address `host:port`; port 0 for any. @throws CommandFailure if the address cannot be bound */
  static async listen(address: string): Promise<CallbackServer> {
    const [host, port] = hostAndPort(address);
    const server = createServer();
    server.headersTimeout = HEADERS_TIMEOUT_MS;
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => reject(new CommandFailure(cannotListen(address, error))));
      server.listen(port, host, resolve);
    });
    const { port: bound } = server.address() as AddressInfo;
    return new CallbackServer(server, `http://${isIPv6(host) ? `[${host}]` : host}:${bound}${PATH}`);
  }

  /** Resolves with the redirect's parameters. @throws LoginRefused; the reason of `signal` if it is aborted */
  next(state: string, signal: AbortSignal): Promise<Callback> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => reject(signal.reason as Error);
      if (signal.aborted) giveUp();
      signal.addEventListener('abort', giveUp, { once: true });
      this.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
        const answer = answerTo(request, state);
        response.writeHead(answer.status, HEADERS).end(page(answer.text), () => {
          if (answer.callback) resolve(answer.callback);
          if (answer.refused) reject(answer.refused);
        });
      });
    });
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly callback?: Callback;
  readonly refused?: LoginRefused;
}

/** Decides about one request of a browser. Pure. */
export function answerTo({ method, url }: Pick<IncomingMessage, 'method' | 'url'>, state: string): Answer {
  const { pathname, searchParams } = new URL(url ?? '/', 'http://localhost');
  if (pathname !== PATH) return { status: 404, text: 'There is nothing here.' };
  if (method !== 'GET') return { status: 405, text: 'Only GET is answered here.' };
  if (searchParams.get('state') !== state)
    return { status: 400, text: 'This is not the login that the command line waits for.' };
  const error = searchParams.get('error');
  if (error !== null) {
    const said = [error, searchParams.get('error_description')].filter((part) => part !== null && part !== '');
    return { status: 400, text: `The login failed: ${said.join(': ')}`, refused: new LoginRefused(said.join(': ')) };
  }
  const code = searchParams.get('code') ?? '';
  if (code === '')
    return { status: 400, text: 'The provider sent no code.', refused: new LoginRefused('the provider sent no code') };
  const callback = { state, code, issuer: searchParams.get('iss') ?? '' };
  return { status: 200, text: 'You are logged in. You may close this page and go back to the command line.', callback };
}

const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'",
  'Referrer-Policy': 'no-referrer',
  Connection: 'close',
};

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
const page = (text: string): string =>
  `<!doctype html><html lang="en"><head><title>Waybill</title></head><body><p>${escaped(text)}</p></body></html>\n`;

/** @throws CommandFailure */
function hostAndPort(address: string): readonly [string, number] {
  const at = address.lastIndexOf(':');
  const host = address.slice(0, at).replace(/^\[(.*)\]$/, '$1');
  const port = Number(address.slice(at + 1));
  if (at < 1 || !/^\d{1,5}$/.test(address.slice(at + 1)) || port > 65_535)
    throw new CommandFailure(
      `Error performing login: -oidc-callback-addr must be a host and a port such as localhost:4649; got: ${address}`,
    );
  return [host, port];
}

const cannotListen = (address: string, error: Error & { code?: string }): string =>
  error.code === 'EADDRINUSE'
    ? `Error performing login: cannot listen on ${address} for the provider's answer: the port is in use. Choose another with -oidc-callback-addr`
    : `Error performing login: cannot listen on ${address} for the provider's answer: ${causeOf(error)}`;
