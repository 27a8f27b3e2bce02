import { fstatSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import type { Call, ServerCommand } from '../command-spec.js';
import { environmentNameOf, environmentOf } from '../server/connection.js';
import { curlCommand, type CurlRequest } from '../server/curl-command.js';
import { ArgumentFailure, causeOf, CommandFailure, isInterrupt } from '../failure.js';
import { booleanOf } from '../flags/parsed-flags.js';
import { WAYBILL_VERSION } from '@waybill/model/version';

/** Sends a request as given, or prints it as a curl command under `-dryrun` (CL-802 to CL-805). */
export const command: ServerCommand = {
  usage: '<path>',
  description:
    'Sends a request and prints the response, whatever its status. <path> is /v1/…, a host and a path, or a ' +
    'whole URL. Data from a pipe becomes the body.',
  flags: [
    { name: 'X', kind: 'text', value: 'method', help: 'The method (default: GET, or POST with a body).' },
    {
      name: 'H',
      kind: 'list',
      value: 'name: value',
      help: 'A header, which replaces a default one. May be repeated.',
    },
    { name: 'filter', kind: 'text', value: 'expression', help: 'The query parameter filter.' },
    { name: 'dryrun', kind: 'switch', help: 'Print the curl command that does the same, and send nothing.' },
    { name: 'verbose', kind: 'switch', help: 'Show request and response on stderr, without secrets.' },
  ],
  takes: { min: 0, max: Number.POSITIVE_INFINITY, otherwise: '' },
  run,
};

async function run(call: Call): Promise<number> {
  const { args, flags, api, terminal } = call;
  const [path] = args;
  if (path === undefined) throw new ArgumentFailure('A path or URL is required');
  if (args.length > 1)
    throw new ArgumentFailure(`operator api accepts exactly 1 argument, but ${args.length} arguments were found`);
  const url = targetOf(call, path);
  const body = await inputOf();
  const method = flags.text('X') ?? (body === undefined ? 'GET' : 'POST');
  const given = flags.list('H').map(headerOf);
  if (flags.on('dryrun')) {
    terminal.print(curlFor(call, { url, method, hasBody: body !== undefined, headers: given }));
    return 0;
  }
  const headers = { ...ownHeaders(call, body), ...Object.fromEntries(given) };
  const trace = (lines: readonly string[], mark: string) => {
    if (flags.on('verbose')) for (const line of lines) terminal.note(`${mark} ${line}`);
  };
  trace([`${method} ${url.pathname}${url.search} HTTP/1.1`, `Host: ${url.host}`, ...headerLines(headers)], '>');
  try {
    const answer = await api.raw({ method, url, headers, body });
    trace([`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage ?? ''}`, ...headerLines(answer.headers)], '<');
    for await (const chunk of answer) await terminal.bytes(chunk as Uint8Array);
    return 0;
  } catch (error) {
    if (isInterrupt(error)) throw error;
    throw new CommandFailure(`Error performing request: ${causeOf(error)}`);
  }
}

/** Builds the URL. The scheme is inferred, and a region or namespace in the path wins (CL-802, CL-804). */
function targetOf({ api, flags }: Call, path: string): URL {
  const { url: address, tls, region, namespace } = api.connection;
  const scheme = tls ? 'https:' : address.protocol;
  const whole = path.startsWith('/')
    ? `${scheme}//${address.host}${path}`
    : /^https?:\/\//.test(path)
      ? path
      : `${scheme}//${path}`;
  if (!URL.canParse(whole)) throw new CommandFailure(`Error making request: "${path}" is no path and no URL`);
  const url = new URL(whole);
  const wanted = { region, namespace, filter: flags.text('filter') };
  for (const [name, value] of Object.entries(wanted))
    if (value !== undefined && (name === 'filter' || !url.searchParams.has(name))) url.searchParams.set(name, value);
  return url;
}

/** Reads the body from stdin, unless stdin is a device such as a terminal or /dev/null (CL-803). */
async function inputOf(): Promise<Buffer | undefined> {
  return fstatSync(0).isCharacterDevice() ? undefined : buffer(process.stdin);
}

/** @throws CommandFailure */
function headerOf(text: string): readonly [string, string] {
  const at = text.indexOf(':');
  if (at < 1) throw new CommandFailure(`Error making request: the header "${text}" is no "name: value"`);
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

function ownHeaders({ api }: Call, body: Buffer | undefined): Record<string, string> {
  const { token, basicAuth } = api.connection;
  return {
    'User-Agent': `waybill-cli/${WAYBILL_VERSION}`,
    ...(token === undefined ? {} : { 'X-Nomad-Token': token }),
    ...(basicAuth === undefined ? {} : { Authorization: `Basic ${Buffer.from(basicAuth).toString('base64')}` }),
    ...(body === undefined ? {} : { 'Content-Length': String(body.length) }),
  };
}

const SECRET = /^(x-nomad-token|authorization)$/i;

const headerLines = (headers: Readonly<Record<string, string | readonly string[] | undefined>>): string[] =>
  Object.entries(headers).map(([name, value]) => `${name}: ${SECRET.test(name) ? '<redacted>' : String(value)}`);

/** Prints the request as a curl command, with the token in clear text only if `-token` gave it (CL-805). */
function curlFor(
  { api, flags, env }: Call,
  { url, method, hasBody, headers }: Pick<CurlRequest, 'url' | 'method' | 'hasBody' | 'headers'>,
): string {
  const setting = (flag: string, name: string) => flags.text(flag) ?? environmentOf(env, name);
  const token = flags.text('token');
  const variable = environmentNameOf(env, 'TOKEN')?.[0];
  return curlCommand({
    verbose: flags.on('verbose'),
    method,
    hasBody,
    url,
    socketPath: api.connection.socketPath,
    cacert: setting('ca-cert', 'CACERT'),
    capath: setting('ca-path', 'CAPATH'),
    cert: setting('client-cert', 'CLIENT_CERT'),
    key: setting('client-key', 'CLIENT_KEY'),
    insecure:
      flags.on('tls-skip-verify') ||
      flags.on('insecure') ||
      booleanOf(environmentOf(env, 'SKIP_VERIFY') ?? '') === true,
    serverName: setting('tls-server-name', 'TLS_SERVER_NAME'),
    headers,
    token: token !== undefined ? { value: token } : variable === undefined ? undefined : { variable },
    basicAuthVariable: environmentNameOf(env, 'HTTP_AUTH')?.[0],
  });
}
