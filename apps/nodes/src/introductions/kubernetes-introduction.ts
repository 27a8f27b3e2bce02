/**
 * KubernetesIntroduction says that the Kubernetes API server vouches for the agent of a machine: it has verified the token
 * of the pod's service account, and the pod still exists (AU-266).
 */
export class KubernetesIntroduction {
  /**
   * @param pod for the log
   * @param machine the name of the Kubernetes node on which the pod runs; undefined before Kubernetes 1.30, whose tokens
   * do not name it
   */
  constructor(
    readonly pod: string,
    readonly machine: string | undefined,
  ) {}
}

/** The audience of the tokens. A token for another audience, such as that of the Kubernetes API, introduces nobody. */
export const KUBERNETES_AUDIENCE = 'waybill';

const NODE_NAME = 'authentication.kubernetes.io/node-name';
const POD_NAME = 'authentication.kubernetes.io/pod-name';

/** The status of a TokenReview, as far as Waybill reads it. */
export interface TokenReviewStatus {
  readonly authenticated?: boolean | undefined;
  readonly audiences?: readonly string[] | undefined;
  readonly user?:
    | {
        readonly username?: string | undefined;
        readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
      }
    | undefined;
}

/**
 * Returns the introduction that a reviewed token gives. It gives none if it is not valid, for another audience, of another
 * service account, or bound to no pod: a token without a pod lives on when its owner has gone.
 * @param account the user name of the agents' service account, `system:serviceaccount:<namespace>:<name>`
 */
export function introductionOf(status: TokenReviewStatus, account: string): KubernetesIntroduction | undefined {
  const { authenticated, audiences = [], user } = status;
  const pod = user?.extra?.[POD_NAME]?.[0];
  if (authenticated !== true || !audiences.includes(KUBERNETES_AUDIENCE)) return undefined;
  if (user?.username !== account || pod === undefined) return undefined;
  return new KubernetesIntroduction(pod, user.extra?.[NODE_NAME]?.[0]);
}
