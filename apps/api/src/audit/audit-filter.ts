import { globMatcher } from '@waybill/model';
import type { AuditFilterSetting } from '@waybill/service';
import type { Stage } from './audit-record.js';

/** FilterQuestion has the values on which a filter depends. */
export interface FilterQuestion {
  /** The path of the request. */
  readonly endpoint: string;
  /** The pattern of its route. */
  readonly route: string | undefined;
  readonly operation: string;
  readonly stage: Stage;
  /** The status. It is undefined until there is an answer. */
  readonly status: number | undefined;
}

export type LeavesOut = (question: FilterQuestion) => boolean;

const FORBIDDEN = 403;
const ACL = /^\/v1\/acl(\/|$)/;

/**
 * Says whether any filter leaves a record out: its endpoints, stages and operations all match. No filter hides a
 * request that was answered 403, or a request about access control (AU-280). The route identifies both, because a path
 * may be written in many ways.
 */
export function leavesOut(filters: readonly AuditFilterSetting[]): LeavesOut {
  const matchers = filters.map(({ endpoints, stages, operations }) => ({
    endpoint: globMatcher(endpoints),
    stage: globMatcher(stages),
    operation: globMatcher(operations),
  }));
  return ({ endpoint, route = '', operation, stage, status }) => {
    if (status === FORBIDDEN || ACL.test(endpoint) || ACL.test(route)) return false;
    return matchers.some((filter) => filter.endpoint(endpoint) && filter.stage(stage) && filter.operation(operation));
  };
}
