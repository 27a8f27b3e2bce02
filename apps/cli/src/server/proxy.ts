import type { Environment } from './environment.js';

/** The proxies of the environment; their URLs may hold a user and a password. */
export interface ProxySettings {
  /** For addresses that begin with http. */
  readonly http?: URL;
  /** For addresses that begin with https. */
  readonly https?: URL;
  /** Hosts that are reached directly, as `NO_PROXY` lists them. */
  readonly except: readonly string[];
}

/** `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, in capitals or not; one that is no URL counts as not given. */
export function proxiesFrom(env: Environment): ProxySettings | undefined {
  const http = proxyUrl(env['HTTP_PROXY'] || env['http_proxy']);
  const https = proxyUrl(env['HTTPS_PROXY'] || env['https_proxy']);
  if (!http && !https) return undefined;
  const except = (env['NO_PROXY'] || env['no_proxy'] || '').split(',').map((entry) => entry.trim().toLowerCase());
  return { ...(http ? { http } : {}), ...(https ? { https } : {}), except: except.filter((entry) => entry !== '') };
}

/** The proxy that this address is reached through; loopback addresses never are. */
export function proxyFor(url: URL, proxies: ProxySettings | undefined): URL | undefined {
  const proxy = url.protocol === 'https:' ? proxies?.https : proxies?.http;
  if (!proxy || isLoopback(url.hostname)) return undefined;
  return proxies?.except.some((entry) => isExcepted(url, entry)) ? undefined : proxy;
}

/** What a proxy asks its users for. */
export function proxyHeaders({ username, password }: URL): Record<string, string> {
  if (username === '') return {};
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'Proxy-Authorization': `Basic ${Buffer.from(user).toString('base64')}` };
}

/** `proxy:3128` means http. */
function proxyUrl(text: string | undefined): URL | undefined {
  if (!text) return undefined;
  const whole = text.includes('://') ? text : `http://${text}`;
  return URL.canParse(whole) ? new URL(whole) : undefined;
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d+){3}$/.test(host);

/** `*`, a host, a domain with all below it (with or without a dot before it), each with a port or for all of them. */
function isExcepted({ hostname, port, protocol }: URL, entry: string): boolean {
  if (entry === '*') return true;
  const [, name = '', only] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
  if (only !== undefined && only !== (port || (protocol === 'https:' ? '443' : '80'))) return false;
  const domain = name.replace(/^\*?\./, '');
  return hostname === domain || hostname.endsWith(`.${domain}`);
}
