import type { IncomingMessage } from 'node:http';
import { hostIn, type ServerNames } from './server-names.js';

/** Which names a server answers under, and the pages of which other origins may use it. */
export interface WebAccess {
  readonly names: ServerNames;
  /** As browsers write them: `https://ui.example`. */
  readonly origins: ReadonlySet<string>;
  /** Paths that a link on any page may open, because everybody gets the same there. Absent: none. */
  readonly opensByLink?: (path: string) => boolean;
}

/** `foreign`: a page of another origin asks, and may. */
export type WebVerdict =
  | { readonly kind: 'refused'; readonly status: 400 | 403 | 415; readonly text: string }
  | { readonly kind: 'own' }
  | { readonly kind: 'foreign'; readonly origin: string };

type Request = Pick<IncomingMessage, 'headers' | 'rawHeaders' | 'httpVersion' | 'method' | 'url'>;

const KNOWN_VERSIONS = new Set(['1.0', '1.1']);
/** `none` is the address bar; a page of another port on the same machine is `same-site`. */
const OWN_SITES = new Set(['same-origin', 'none']);
/** Sent by the forms of pages, which need no permission to send them, and by no client of the API. */
const FORM_TYPES = new Set(['application/x-www-form-urlencoded', 'multipart/form-data']);
const TEXT_TYPE = 'text/plain';
const MAX_SHOWN_CHARACTERS = 100;

/**
 * Whether a request may be answered, as far as web pages are concerned. Browsers send requests in the name of whoever looks
 * at a page, some without asking the server first, and say so: by `Origin` on writes and WebSockets, by `Sec-Fetch-Site`
 * on everything that goes to a trustworthy address such as the loopback's. Programs send neither.
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

/** What a server cannot tell for whom it is meant. HTTP/1.0 needs no Host header, and load balancers' checks send none. */
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

/** Whether somebody follows a link to what they may see in any case: no script of the other page reads the answer. */
function isFollowedLink({ method, url = '', headers }: Request, { opensByLink }: WebAccess): boolean {
  const { origin, 'sec-fetch-mode': mode, 'sec-fetch-dest': destination } = headers;
  const isLink = method === 'GET' && origin === undefined && mode === 'navigate' && destination === 'document';
  return isLink && opensByLink?.(url.split('?', 1)[0] ?? '') === true;
}

/** Whether `origin` is the server under the name it was called by. What ends TLS before it is not known here: both schemes. */
function isOrigin(origin: string, host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(origin)) return false;
  const { protocol, host: authority } = new URL(origin);
  const called = `${protocol}//${host}`;
  return (protocol === 'http:' || protocol === 'https:') && URL.canParse(called) && new URL(called).host === authority;
}

const mediaType = ({ 'content-type': type = '' }: Request['headers']): string =>
  (type.split(';')[0] ?? '').trim().toLowerCase();

const isForm = (headers: Request['headers']): boolean => FORM_TYPES.has(mediaType(headers));

/** Whether any page may send such a body without a question. Without a type it is one too: browsers send blobs so. */
const isSimple = (headers: Request['headers']): boolean =>
  hasBody(headers) && ['', TEXT_TYPE].includes(mediaType(headers));

const hasBody = ({ 'content-length': length, 'transfer-encoding': coding }: Request['headers']): boolean =>
  coding !== undefined || (length !== undefined && length !== '0');

const typeRefused = (headers: Request['headers']): WebVerdict =>
  refused(415, `a page may not send a body of type ${shown(mediaType(headers))}: use application/json`);

type Refusal = Extract<WebVerdict, { readonly kind: 'refused' }>;

const refused = (status: Refusal['status'], text: string): Refusal => ({ kind: 'refused', status, text });

/** In quotes and short, without control characters. */
const shown = (text: string): string => JSON.stringify(text.slice(0, MAX_SHOWN_CHARACTERS));
