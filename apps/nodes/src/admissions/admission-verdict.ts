import { timingSafeEqual } from 'node:crypto';
import type { Node, NodeIntroduction } from '@waybill/model';
import type { MachineProof } from '@waybill/rpc';
import { type Introduction, introductionVerdict, type Namesakes } from '../introductions/introduction-verdict.js';

/** AdmissionVerdict is the decision about a connection. The log shows `why`. */
export type AdmissionVerdict = { readonly isAdmitted: true } | { readonly isAdmitted: false; readonly why: string };

/** AdmissionFacts has everything that the state knows about a proof. */
export interface AdmissionFacts {
  /** The node of that ID, if the servers know it. */
  readonly stored: Pick<Node, 'SecretID'> | undefined;
  readonly namesakes: Namesakes;
  readonly introduction: Introduction;
  /** The use of the introduction token, if one was used before. */
  readonly used: Pick<NodeIntroduction, 'NodeID'> | undefined;
}

/**
 * Decides whether a connection is the machine that its proof names (AU-265). The secret decides about a machine that the
 * servers know. A new one needs a valid introduction, whatever WAYBILL_CLIENT_INTRODUCTION_ENFORCEMENT says: nobody
 * else vouches for a machine at NATS.
 */
export function admissionVerdict(proof: MachineProof, facts: AdmissionFacts): AdmissionVerdict {
  const { stored, namesakes, introduction, used } = facts;
  if (stored)
    return isSame(stored.SecretID, proof.secret)
      ? { isAdmitted: true }
      : { isAdmitted: false, why: 'the node is known with another secret' };
  const node = { ID: proof.node, Name: proof.name, NodePool: proof.pool };
  const verdict = introductionVerdict(node, introduction, 'strict', namesakes);
  if (!verdict.isAllowed) return { isAdmitted: false, why: verdict.violation };
  if ('use' in verdict && used !== undefined && used.NodeID !== proof.node)
    return { isAdmitted: false, why: 'another node has used the introduction token' };
  return { isAdmitted: true };
}

/** Whether two secrets are equal, in a time that does not depend on where they differ. An empty one equals none. */
function isSame(stored: string, given: string): boolean {
  const [a, b] = [Buffer.from(stored, 'utf8'), Buffer.from(given, 'utf8')];
  return a.length > 0 && a.length === b.length && timingSafeEqual(a, b);
}
