/** Parts of a curl command (CL-805). */
export interface CurlRequest {
  readonly verbose: boolean;
  readonly method: string;
  readonly hasBody: boolean;
  readonly url: URL;
  readonly socketPath?: string | undefined;
  /** Files and switches for TLS from flags and environment. */
  readonly cacert?: string | undefined;
  readonly capath?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly insecure: boolean;
  readonly serverName?: string | undefined;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The literal token only if a flag gave it, otherwise the variable that contains it. */
  readonly token?: { readonly value: string } | { readonly variable: string } | undefined;
  readonly basicAuthVariable?: string | undefined;
}

/** Returns the curl command for a request: one option per line, and secrets as references to their variables. */
export function curlCommand(request: CurlRequest): string {
  const { url, serverName } = request;
  const target = new URL(url);
  const parts: string[] = [];
  const option = (name: string, value: string | undefined) => {
    if (value !== undefined) parts.push(`${name} "${value}"`);
  };
  if (request.verbose) parts.push('--verbose');
  if (request.method !== 'GET') parts.push(`-X ${request.method}`);
  if (request.hasBody) parts.push('--data-binary @-');
  option('--unix-socket', request.socketPath);
  option('--cacert', request.cacert);
  option('--capath', request.capath);
  option('--cert', request.cert);
  option('--key', request.key);
  if (request.insecure) parts.push('--insecure');
  if (serverName !== undefined) {
    const port = url.port || (url.protocol === 'https:' ? '443' : '80');
    parts.push(`--connect-to "${serverName}:${port}:${url.hostname}:${port}"`);
    target.hostname = serverName;
  }
  for (const [name, value] of request.headers) parts.push(`-H '${name}: ${value}'`);
  const { token } = request;
  if (token && 'value' in token) parts.push(`-H 'X-Nomad-Token: ${token.value}'`);
  else if (token) parts.push(`-H "X-Nomad-Token: \${${token.variable}}"`);
  if (request.basicAuthVariable !== undefined) parts.push(`-u "$${request.basicAuthVariable}"`);
  target.searchParams.sort();
  parts.push(`'${target.href}'`);
  return ['curl', ...parts.map((part) => `  ${part}`)].join(' \\\n');
}
