import { randomInt } from 'node:crypto';
import type { Token } from '../access/token-text.js';
import { printToken } from '../access/token-text.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { causeOf, CommandFailure, failed, isInterrupt } from '../failure.js';
import { CallbackServer } from '../login/callback-server.js';
import type { Answer } from '../server/api-client.js';
import { openInBrowser } from '../server/browser.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

/** Default address to which the provider redirects the browser. */
const CALLBACK_ADDRESS = 'localhost:4649';
/** The server forgets a login that takes longer than this, in ms (AU-95). */
const PROVIDER_WAIT_MS = 60_000;
const NONCE_LENGTH = 24;
const BASE_62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

interface MethodStub {
  readonly Name: string;
  readonly Type: string;
  readonly Default: boolean;
}

/** The command `login` (AU-291 to AU-294). */
export const command: ServerCommand = {
  usage: '',
  description:
    'Logs in with an auth method and prints the token. For a method of type OIDC, your browser opens, you log in ' +
    'at the provider, and the provider redirects the browser to this machine. For a method of type JWT, pass the ' +
    'credential with -login-token.\n\nNeeds no token. The token is printed and kept nowhere: put it into ' +
    'NOMAD_TOKEN.',
  flags: [
    { name: 'method', kind: 'text', value: 'name', help: 'Auth method (default: the default one).' },
    { name: 'login-token', kind: 'text', value: 'jwt', help: 'JWT of a third party, for a method of type JWT.' },
    {
      name: 'oidc-callback-addr',
      kind: 'text',
      value: 'host:port',
      help: `Where this machine waits for the browser; ${CALLBACK_ADDRESS} unless given.`,
    },
    { name: 'type', kind: 'text', value: 'type', help: 'Deprecated: the method has a type.' },
    ...DATA_FLAGS,
  ],
  takes: { min: 0, max: 0, otherwise: 'This command takes no arguments' },
  withoutNamespace: true,
  async run(call) {
    const { flags, terminal, data } = call;
    if (flags.given('type'))
      terminal.warn("warning: '-type' flag has been deprecated for nomad login command and will be ignored.");
    const method = await methodOf(call);
    const answer = await loggedIn(call, method).catch((error: unknown) => {
      throw isInterrupt(error)
        ? new CommandFailure('Error performing login: context canceled')
        : failed('performing login', error);
    });
    if (!data) terminal.print(`Successfully logged in via ${method.Type} and ${method.Name}\n`);
    printToken(call, answer);
    return 0;
  },
};

/** Returns the requested method, or the default one. @throws CommandFailure */
async function methodOf({ api, flags }: Call): Promise<MethodStub> {
  const { value: methods } = await api.get<readonly MethodStub[]>('/v1/acl/auth-methods').catch((error: unknown) => {
    throw failed('listing ACL auth methods', error);
  });
  const name = flags.text('method');
  const method = methods.find((one) => (name === undefined ? one.Default : one.Name === name));
  if (method) return method;
  throw new CommandFailure(
    name === undefined
      ? 'Must specify an auth method name, no default found'
      : `Error: method ${name} not found in the state store. `,
  );
}

function loggedIn(call: Call, method: MethodStub): Promise<Answer<Token>> {
  const LoginToken = call.flags.text('login-token');
  switch (method.Type) {
    case 'OIDC':
      return byProvider(call, method.Name);
    case 'JWT':
      if (LoginToken === undefined) throw new CommandFailure('You need to provide a login token.');
      return call.api.put<Token>('/v1/acl/login', { AuthMethodName: method.Name, LoginToken });
    default:
      throw new CommandFailure(`Unsupported authentication type "${method.Type}"`);
  }
}

/** Logs in at the provider with the browser (AU-292). */
async function byProvider(call: Call, AuthMethodName: string): Promise<Answer<Token>> {
  const { api, flags, interrupt } = call;
  const callbacks = await CallbackServer.listen(flags.text('oidc-callback-addr') ?? CALLBACK_ADDRESS);
  try {
    const ClientNonce = newNonce();
    const RedirectURI = callbacks.redirectUri;
    const begun = { AuthMethodName, RedirectURI, ClientNonce };
    const { AuthURL } = (await api.put<{ AuthURL: string }>('/v1/acl/oidc/auth-url', begun)).value;
    const [waited, end] = within(interrupt, PROVIDER_WAIT_MS);
    try {
      const back = callbacks.next(new URL(AuthURL).searchParams.get('state') ?? '', waited);
      back.catch(() => {}); // awaited below; the browser may be quicker than this line
      await show(call, AuthURL);
      const { state: State, code: Code, issuer: Iss } = await back;
      return await api.put<Token>('/v1/acl/oidc/complete-auth', { ...begun, State, Code, Iss });
    } finally {
      end();
    }
  } finally {
    callbacks.close();
  }
}

/** Opens the browser, or prints the address for the user (AU-292). With `-json`, stdout carries only data. */
async function show({ terminal, data, env }: Call, url: string): Promise<void> {
  try {
    await openInBrowser(url, env);
    terminal.note(`Log in with your browser. If it did not open, go to:\n\n${url}\n`);
  } catch (error) {
    terminal.error(`Error opening OIDC provider URL: ${causeOf(error)}`);
    const text = `Open this address in a browser on this machine to log in:\n\n${url}\n`;
    if (data) terminal.note(text);
    else terminal.print(text);
  }
}

const newNonce = (): string => Array.from({ length: NONCE_LENGTH }, () => BASE_62[randomInt(BASE_62.length)]).join('');

/** Returns a signal that Ctrl-C or the timeout aborts, and a function that ends the timeout. */
function within(interrupt: AbortSignal, ms: number): readonly [AbortSignal, () => void] {
  const late = new AbortController();
  const timer = setTimeout(
    () => late.abort(new CommandFailure('Error performing login: nobody came back from the provider within a minute')),
    ms,
  );
  return [AbortSignal.any([interrupt, late.signal]), () => clearTimeout(timer)];
}
