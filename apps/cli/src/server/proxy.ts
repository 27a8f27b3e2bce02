import type { Environment } from './environment.js';

/** Proxy settings of the environment. Their URLs may contain a user and a password. */
export interface ProxySettings {
  /** Proxy for http addresses. */
  readonly http?: URL;
  /** Proxy for https addresses. */
  readonly https?: URL;
  /** Hosts that are reached directly, from `NO_PROXY`. */
  readonly except: readonly string[];
}

/** Reads `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, in upper or lower case. An invalid URL counts as absent. */
export function proxiesFrom(env: Environment): ProxySettings | undefined {
  const http = proxyUrl(env['HTTP_PROXY'] || env['http_proxy']);
  const https = proxyUrl(env['HTTPS_PROXY'] || env['https_proxy']);
  if (!http && !https) return undefined;
  const except = (env['NO_PROXY'] || env['no_proxy'] || '').split(',').map((entry) => entry.trim().toLowerCase());
  return { ...(http ? { http } : {}), ...(https ? { https } : {}), except: except.filter((entry) => entry !== '') };
}

/** Returns the proxy for this address. Loopback addresses never use one. */
export function proxyFor(url: URL, proxies: ProxySettings | undefined): URL | undefined {
  const proxy = url.protocol === 'https:' ? proxies?.https : proxies?.http;
  if (!proxy || isLoopback(url.hostname)) return undefined;
  return proxies?.except.some((entry) => isExcepted(url, entry)) ? undefined : proxy;
}

/** Returns the header with which a user authenticates at a proxy. */
export function proxyHeaders({ username, password }: URL): Record<string, string> {
  if (username === '') return {};
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'Proxy-Authorization': `Basic ${Buffer.from(user).toString('base64')}` };
}

/** Parses the URL of a proxy. `proxy:3128` is http. */
function proxyUrl(text: string | undefined): URL | undefined {
  if (!text) return undefined;
  const whole = text.includes('://') ? text : `http://${text}`;
  return URL.canParse(whole) ? new URL(whole) : undefined;
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d+){3}$/.test(host);

/**
 * Whether an entry of `NO_PROXY` covers the address: `*`, a host, or a domain with its subdomains (with or without a
 * leading dot), each with or without a port.
 */
function isExcepted({ hostname, port, protocol }: URL, entry: string): boolean {
  if (entry === '*') return true;
  const [, name = '', only] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
  if (only !== undefined && only !== (port || (protocol === 'https:' ? '443' : '80'))) return false;
  const domain = name.replace(/^\*?\./, '');
  return hostname === domain || hostname.endsWith(`.${domain}`);
}
