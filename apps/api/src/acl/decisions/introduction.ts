import type { Claims } from '@waybill/keyring';
import {
  ALL_NODES_POOL,
  DEFAULT_AUDIENCE,
  MAX_NODE_NAME_BYTES,
  nameLengthErrors,
  NS_PER_SECOND,
  poolNameProblem,
} from '@waybill/model';
import { badRequest } from '../../http/api-error.js';
import type { IntroductionRequest } from '../introduction-request.js';

export interface IntroductionContext {
  readonly region: string;
  /** The configured issuer; empty if there is none. */
  readonly issuer: string;
  readonly defaultTtlNs: number;
  readonly maxTtlNs: number;
  readonly nowMs: number;
  readonly newId: () => string;
}

export interface DecidedIntroduction {
  readonly claims: Claims;
  /** Whether a longer life was requested than a token may have. */
  readonly isShortened: boolean;
}

const MS_PER_S = 1_000;

/**
 * Returns the claims of an introduction token (AU-200). Its pool need not exist. @throws Refusal invalid if no machine
 * could register with it, or if it would have no end
 */
export function introductionClaims(request: IntroductionRequest, context: IntroductionContext): DecidedIntroduction {
  const { NodeName, TTL } = request;
  const pool = request.NodePool || 'default';
  const problem =
    poolNameProblem(pool) ??
    (pool === ALL_NODES_POOL ? 'node is not allowed to register in node pool "all"' : undefined) ??
    nameLengthErrors('node name', NodeName, MAX_NODE_NAME_BYTES)[0];
  if (problem !== undefined) throw badRequest(problem);
  if (TTL < 0) throw badRequest('TTL must not be negative');
  const { region, issuer, defaultTtlNs, maxTtlNs, nowMs, newId } = context;
  const lifeNs = TTL === 0 ? defaultTtlNs : Math.min(TTL, maxTtlNs);
  const nowS = Math.floor(nowMs / MS_PER_S);
  const claims = {
    ...(issuer !== '' && { iss: issuer }),
    aud: DEFAULT_AUDIENCE,
    sub: `node-introduction:${region}:${pool}:${NodeName}:default`,
    iat: nowS,
    nbf: nowS,
    exp: nowS + Math.max(1, Math.round(lifeNs / NS_PER_SECOND)),
    jti: newId(),
    nomad_node_pool: pool,
    nomad_node_name: NodeName,
  };
  return { claims, isShortened: TTL > maxTtlNs };
}
