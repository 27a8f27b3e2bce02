import { Refusal } from '@waybill/model';
import { type CallFence, notAdmitted, type RoleTerms } from '@waybill/rpc';
import type { Role } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';

/** RoleHoldersStore keeps what the machine knows of the holders of roles, over restarts of the agent. */
export interface RoleHoldersStore {
  /** Returns undefined if nothing is stored. */
  load(): Promise<RoleTerms | undefined>;
  save(terms: RoleTerms): Promise<void>;
}

const NOTHING_KNOWN: RoleTerms = { ClusterID: '', RestoredIndex: 0, Holders: {} };

/**
 * RoleHolders knows the highest epoch of each role that calls this machine, and refuses calls of deposed holders
 * (AU-256). It learns from the answers of servers and from the calls themselves: only a service can send either.
 *
 * Epochs follow each other within one history of the log. A restore of the state begins the next history, and a server
 * that knows it is believed even if its epochs are lower; a server that is behind, and still tells of the history before,
 * is not. Clocks play no part (AU-261). Cost: one durable write per term of a role.
 */
export class RoleHolders {
  /** @param known what the store had when the agent started */
  constructor(
    private readonly store: Pick<RoleHoldersStore, 'save'>,
    private readonly logger: Logger,
    private known: RoleTerms = NOTHING_KNOWN,
  ) {}

  static async load(store: RoleHoldersStore, logger: Logger): Promise<RoleHolders> {
    return new RoleHolders(store, logger, await store.load());
  }

  /** Takes what a server says about the holders. Undefined if it is of an older version. */
  updateHolders(told: RoleTerms | undefined): void {
    if (!told) return;
    const { known } = this;
    if (told.ClusterID === known.ClusterID && told.RestoredIndex < known.RestoredIndex) return;
    const isSameHistory = told.ClusterID === known.ClusterID && told.RestoredIndex === known.RestoredIndex;
    // An agent that has heard of no history yet may have been called already, in the one that it hears of now.
    const isContinued = isSameHistory || known.ClusterID === NOTHING_KNOWN.ClusterID;
    const Holders = isContinued ? newestTerms(known.Holders, told.Holders) : told.Holders;
    if (isSameHistory && Holders === known.Holders) return;
    this.known = { ...told, Holders };
    this.store
      .save(this.known)
      .catch((error: unknown) => this.logger.error('the holders of roles could not be stored', { error }));
  }

  /**
   * Resolves if the fence is that of the role's present holder. A newer epoch is stored before it is admitted, so that
   * no restart of the agent admits its predecessor (AU-334).
   * @throws Refusal forbidden for another role; retryable `stale epoch` for a deposed holder; the error of storing
   */
  async admit(role: Role, fence: CallFence): Promise<void> {
    if (fence.Role !== role) throw notAdmitted();
    const { Epoch, Holder } = fence;
    const known = this.known.Holders[role];
    if (known && (Epoch < known.Epoch || (Epoch === known.Epoch && Holder !== known.Holder))) {
      const message = `stale epoch: ${Holder} calls as holder of ${role} with epoch ${Epoch}, and this machine knows epoch ${known.Epoch} of ${known.Holder}`;
      throw new Refusal('retryable', message);
    }
    if (Epoch === known?.Epoch) return;
    this.known = { ...this.known, Holders: { ...this.known.Holders, [role]: { Epoch, Holder } } };
    await this.store.save(this.known);
  }
}

/** The later term of each role. The first argument itself if it has them all. */
function newestTerms(known: RoleTerms['Holders'], told: RoleTerms['Holders']): RoleTerms['Holders'] {
  const later = Object.entries(told).filter(([role, { Epoch }]) => Epoch > (known[role as Role]?.Epoch ?? 0));
  return later.length === 0 ? known : { ...known, ...Object.fromEntries(later) };
}
