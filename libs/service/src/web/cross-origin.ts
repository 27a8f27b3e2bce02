import type { IncomingMessage } from 'node:http';
import { hostIn, type ServerNames } from './server-names.js';

/** The names of a server, and the origins of pages that may use it. */
export interface WebAccess {
  readonly names: ServerNames;
  /** Origins in the form of browsers: `https://ui.example`. */
  readonly origins: ReadonlySet<string>;
  /** Paths that a link on any page may open, because their content is equal for everybody. Absent for none. */
  readonly opensByLink?: (path: string) => boolean;
}

/** `foreign` is an allowed request of a page with another origin. */
export type WebVerdict =
  | { readonly kind: 'refused'; readonly status: 400 | 403 | 415; readonly text: string }
  | { readonly kind: 'own' }
  | { readonly kind: 'foreign'; readonly origin: string };

type Request = Pick<IncomingMessage, 'headers' | 'rawHeaders' | 'httpVersion' | 'method' | 'url'>;

const KNOWN_VERSIONS = new Set(['1.0', '1.1']);
/** `none` is the address bar. A page on another port of the same machine is `same-site`. */
const OWN_SITES = new Set(['same-origin', 'none']);
/** Types that forms of web pages send without a preflight, and that no client of the API sends. */
const FORM_TYPES = new Set(['application/x-www-form-urlencoded', 'multipart/form-data']);
const TEXT_TYPE = 'text/plain';
const MAX_SHOWN_CHARACTERS = 100;

/**
 * Whether a request may be answered, as far as web pages are concerned. Browsers send requests on behalf of the reader
 * of a page, some of them without a preflight. They identify such requests by `Origin` on writes and WebSockets, and by
 * `Sec-Fetch-Site` on requests to trustworthy addresses such as the loopback. Programs send neither.
 */
export function judgeWebRequest(request: Request, access: WebAccess): WebVerdict {
  const { names, origins } = access;
  const { headers } = request;
  const malformed = malformation(request);
  if (malformed !== undefined) return refused(400, malformed);
  const { host: hostHeader, origin } = headers;
  const host = hostHeader === undefined ? undefined : hostIn(hostHeader);
  if (host === undefined && hostHeader !== undefined) return refused(400, 'the Host header is malformed');
  if (host !== undefined && !names.has(host))
    return refused(
      403,
      `this server is not called ${shown(host)}. Add the name to WAYBILL_HTTP_ALLOWED_HOSTS if it is`,
    );
  if (origin !== undefined && isForm(headers)) return typeRefused(headers);
  if (origin !== undefined && origins.has(origin))
    return isSimple(headers) ? typeRefused(headers) : { kind: 'foreign', origin };
  if (isForeign(headers) && !isFollowedLink(request, access))
    return refused(
      403,
      `a page of ${shown(origin ?? 'another origin')} may not use this server. Add its origin to WAYBILL_HTTP_ALLOWED_ORIGINS if it may`,
    );
  return { kind: 'own' };
}

/**
 * Returns why the server cannot tell under which name it was called. HTTP/1.0 needs no Host header, and checks of load
 * balancers send none.
 */
function malformation({ httpVersion, rawHeaders }: Request): string | undefined {
  if (!KNOWN_VERSIONS.has(httpVersion)) return `HTTP/${httpVersion} is not spoken here`;
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]?.toLowerCase() === 'host') hosts++;
  return hosts > 1 ? 'the request has more than one Host header' : undefined;
}

function isForeign({ origin, host, 'sec-fetch-site': site }: Request['headers']): boolean {
  if (origin !== undefined && !isOrigin(origin, host)) return true;
  return site !== undefined && !OWN_SITES.has(String(site));
}

/**
 * Whether the request follows a link to a path that everybody may see. No script of the other page can read the
 * response.
 */
function isFollowedLink({ method, url = '', headers }: Request, { opensByLink }: WebAccess): boolean {
  const { origin, 'sec-fetch-mode': mode, 'sec-fetch-dest': destination } = headers;
  const isLink = method === 'GET' && origin === undefined && mode === 'navigate' && destination === 'document';
  return isLink && opensByLink?.(url.split('?', 1)[0] ?? '') === true;
}

/**
 * Whether `origin` is the server under the called name. A proxy may terminate TLS in front of it, so both schemes are
 * accepted.
 */
function isOrigin(origin: string, host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(origin)) return false;
  const { protocol, host: authority } = new URL(origin);
  const called = `${protocol}//${host}`;
  return (protocol === 'http:' || protocol === 'https:') && URL.canParse(called) && new URL(called).host === authority;
}

const mediaType = ({ 'content-type': type = '' }: Request['headers']): string =>
  (type.split(';')[0] ?? '').trim().toLowerCase();

const isForm = (headers: Request['headers']): boolean => FORM_TYPES.has(mediaType(headers));

/**
 * Whether any page may send such a body without a preflight. This includes a body without a type, because browsers send
 * blobs in that way.
 */
const isSimple = (headers: Request['headers']): boolean =>
  hasBody(headers) && ['', TEXT_TYPE].includes(mediaType(headers));

const hasBody = ({ 'content-length': length, 'transfer-encoding': coding }: Request['headers']): boolean =>
  coding !== undefined || (length !== undefined && length !== '0');

const typeRefused = (headers: Request['headers']): WebVerdict =>
  refused(415, `a page may not send a body of type ${shown(mediaType(headers))}: use application/json`);

type Refusal = Extract<WebVerdict, { readonly kind: 'refused' }>;

const refused = (status: Refusal['status'], text: string): Refusal => ({ kind: 'refused', status, text });

/** Quotes and shortens a text, without control characters. */
const shown = (text: string): string => JSON.stringify(text.slice(0, MAX_SHOWN_CHARACTERS));
