import { jobSubject, type Log } from '@waybill/journal';
import { forcePeriodic, type Rpc, type CallUser, UserRpc } from '@waybill/rpc';

export interface ForcedLaunch {
  readonly EvalID: string;
  readonly EvalCreateIndex: number;
  readonly Index: number;
}

/**
 * ForceLaunch asks the holder of the broker role to launch a periodic job now. The holder also launches it on schedule.
 * The request is sent once, because a second one would be a second launch.
 */
export class ForceLaunch {
  constructor(
    private readonly log: Pick<Log, 'lastSequence'>,
    private readonly rpc: Rpc,
    private readonly readable: (index: number) => Promise<unknown>,
  ) {}

  /** Resolves when the launch can be read. @throws RpcError 500 with the contract's text, RpcUnavailableError */
  async launch(namespace: string, id: string, user: CallUser): Promise<ForcedLaunch> {
    const AtIndex = await this.log.lastSequence(jobSubject(namespace, id));
    const { EvalID, Index } = await new UserRpc(this.rpc, user).ask(forcePeriodic, {
      Namespace: namespace,
      JobID: id,
      AtIndex,
    });
    await this.readable(Index);
    return { EvalID, EvalCreateIndex: Index, Index };
  }
}
