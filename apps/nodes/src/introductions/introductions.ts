import { type Keyring, TokenRefusedError } from '@waybill/keyring';
import type { Node } from '@waybill/model';
import type { Tables } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';
import { asNode, type TransactionWriter } from '@waybill/writing';
import { permissionDenied } from '../node/node-access.js';
import type { TokenReviews } from './token-review.transport.js';
import {
  type Introduction,
  type IntroductionEnforcement,
  introductionVerdict,
  isClaims,
} from './introduction-verdict.js';

export interface IntroductionsDependencies {
  readonly state: { readonly tables: Pick<Tables, 'nodes'> };
  readonly keyring: Pick<Keyring, 'verifyJwt'>;
  readonly writer: TransactionWriter;
  readonly logger: Logger;
  /** Asks Kubernetes about tokens of agents' pods. Absent: they introduce nobody. */
  readonly reviews?: Pick<TokenReviews, 'introductionOf'> | undefined;
  readonly enforcement: IntroductionEnforcement;
  /** Counts a new machine whose token is missing or wrong. */
  readonly violation: () => void;
}

/**
 * Introductions decides whether a machine that is not stored yet may register (AU-201 to AU-205). A stored machine is not
 * asked: its secret decides. Stateless. Cost: one verified signature for a token, and one transaction if the token is
 * good for one machine.
 */
export class Introductions {
  constructor(private readonly deps: IntroductionsDependencies) {}

  /**
   * @param token an introduction token, or the machine's identity
   * @throws Refusal forbidden, also if another machine has used the token; and what the log fails with
   */
  async admit(node: Node, token: string | undefined, traceparent: string | undefined): Promise<void> {
    const { state, enforcement, writer } = this.deps;
    if (enforcement === 'none' || state.tables.nodes.has(node.ID)) return;
    const introduction = await this.introductionOf(token);
    const verdict = introductionVerdict(node, introduction, enforcement, () => namesakesOf(state.tables, node.Name));
    if ('violation' in verdict) this.report(node, introduction, verdict.violation, verdict.isAllowed);
    if (!verdict.isAllowed) throw permissionDenied();
    if ('use' in verdict && verdict.use)
      await writer.write(
        { type: 'NodeIntroduction', payload: { Introduction: verdict.use } },
        asNode(node, traceparent),
      );
  }

  /**
   * Reads a token that introduces a machine.
   * @throws TokenReviewError if Kubernetes, which may know the token, does not answer
   */
  async introductionOf(token: string | undefined): Promise<Introduction> {
    if (token === undefined || token === '') return 'none';
    try {
      return await this.deps.keyring.verifyJwt(token);
    } catch (error) {
      if (!(error instanceof TokenRefusedError)) throw error;
      return (await this.deps.reviews?.introductionOf(token)) ?? 'invalid';
    }
  }

  private report(node: Node, introduction: Introduction, violation: string, isAllowed: boolean): void {
    this.deps.violation();
    const claims = isClaims(introduction) ? introduction : undefined;
    const about = { node: node.ID, name: node.Name, pool: node.NodePool, ...(claims && { claims: claims.sub }) };
    if (isAllowed) this.deps.logger.warn(violation, about);
    else this.deps.logger.error(violation, about);
  }
}

/** The nodes of that name. Cost: all nodes, which only a new machine causes. */
export const namesakesOf = ({ nodes }: Pick<Tables, 'nodes'>, name: string): Node[] =>
  [...nodes.all()].filter(({ Name }) => Name === name);
