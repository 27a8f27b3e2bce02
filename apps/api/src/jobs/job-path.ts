import { badRequest } from '../http/api-error.js';
import { pathOf } from '../http/path.js';

/** The sub-routes of a job, in the order in which they are tried (API-5). */
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
  /** The sub-route; undefined for the job itself. */
  readonly sub: JobSubRoute | undefined;
}

/**
 * Returns the job, and the part of it, that a path below `/v1/job/` names. IDs may contain slashes, so the suffix
 * decides. A suffix counts only behind a slash, so that a job may have the ID `plan` (API-5, API-6).
 * @param path the percent-decoded path
 */
export function parseJobPath(path: string): JobPath {
  const sub = SUFFIXES.find((suffix) => path.endsWith(`/${suffix}`) && path.length > suffix.length + 1);
  return sub === undefined ? { id: path, sub } : { id: path.slice(0, -(sub.length + 1)), sub };
}

/**
 * Returns the sub-route of a request below `/v1/job/`. The result is undefined for the job itself, and for a path that
 * cannot be decoded.
 */
export function jobSubRoute(url: string): JobSubRoute | undefined {
  try {
    return jobPathOf(url).sub;
  } catch {
    return undefined;
  }
}

/** Returns the job of a request below `/v1/job/`. @throws Refusal invalid */
export function jobPathOf(url: string): JobPath {
  const raw = pathOf(url).slice('/v1/job/'.length);
  try {
    return parseJobPath(decodeURIComponent(raw));
  } catch {
    throw badRequest('the path is not valid percent-encoding');
  }
}
