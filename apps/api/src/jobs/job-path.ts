import { badRequest } from '../http/api-error.js';
import { pathOf } from '../http/path.js';

/** Sub-routes of a job, in the order they are tried (API-5). */
export const SUFFIXES = [
  'evaluate',
  'allocations',
  'evaluations',
  'periodic/force',
  'plan',
  'summary',
  'dispatch',
  'dispatch/payload',
  'versions',
  'revert',
  'deployments',
  'deployment',
  'stable',
  'scale',
  'services',
  'submission',
  'actions',
  'action',
  'tag',
] as const;

export type JobSubRoute = (typeof SUFFIXES)[number];

export interface JobPath {
  readonly id: string;
  /** undefined: the job itself. */
  readonly sub: JobSubRoute | undefined;
}

/**
 * Which job, and what of it, a path below `/v1/job/` names. Ids may contain slashes, so the suffix decides; a suffix
 * counts only behind a slash, so that a job may be called `plan` (API-5, API-6).
 * @param path percent-decoded
 */
export function parseJobPath(path: string): JobPath {
  const sub = SUFFIXES.find((suffix) => path.endsWith(`/${suffix}`) && path.length > suffix.length + 1);
  return sub === undefined ? { id: path, sub } : { id: path.slice(0, -(sub.length + 1)), sub };
}

/** The sub-route of a request below `/v1/job/`; undefined for the job itself, and for a path that cannot be read. */
export function jobSubRoute(url: string): JobSubRoute | undefined {
  try {
    return jobPathOf(url).sub;
  } catch {
    return undefined;
  }
}

/** Which job a request below `/v1/job/` is about. @throws Refusal invalid */
export function jobPathOf(url: string): JobPath {
  const raw = pathOf(url).slice('/v1/job/'.length);
  try {
    return parseJobPath(decodeURIComponent(raw));
  } catch {
    throw badRequest('the path is not valid percent-encoding');
  }
}
