import { acceptsCoding } from '../http/content-coding.js';
import type { PageFile } from './page-files.store.js';

/** The policy allows content only from this server, and no scripts or styles inside a page. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export interface PageAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
}

const HEADERS = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Opener-Policy': 'same-origin',
} as const;

/** The names of these files change with their contents. */
const HASHED = 'assets/';

/**
 * Says whether a path, without its query, is one of the pages, or `/`, which leads there. Files of the pages are not.
 */
export const isPagePath = (path: string): boolean =>
  path === '/' || path === '/ui' || (path.startsWith('/ui/') && !path.startsWith(`/ui/${HASHED}`));

const YEAR_S = 31_536_000;

const NOT_BUILT =
  '<!doctype html><title>Waybill</title><p>The pages are not built. Run npm run build, and load again.</p>';

/**
 * Returns the answer for a path below `/ui/`. Files have their own paths; every other path is a state of the pages,
 * which all begin with `index.html`.
 * @param name the path below `/ui/`
 * @param fileOf returns the built file of a name
 * @param accepted the request's `Accept-Encoding`
 */
export function pageAnswer(
  name: string,
  fileOf: (name: string) => PageFile | undefined,
  accepted: string | string[] | undefined,
): PageAnswer {
  const isAsset = name.startsWith(HASHED);
  const file = isAsset ? fileOf(name) : fileOf('index.html');
  if (!file) {
    const headers = { ...HEADERS, 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-cache' };
    return isAsset ? { status: 404, headers, body: '' } : { status: 200, headers, body: NOT_BUILT };
  }
  const [coding, body] = file.coded.find(([one]) => acceptsCoding(accepted, one)) ?? [undefined, file.plain];
  return {
    status: 200,
    headers: {
      ...HEADERS,
      'Content-Type': file.type,
      'Cache-Control': isAsset ? `public, max-age=${YEAR_S}, immutable` : 'no-cache',
      ...(coding !== undefined && { 'Content-Encoding': coding }),
    },
    body,
  };
}
