import { jobSubject, type Log } from '@waybill/journal';
import { forcePeriodic, type Rpc } from '@waybill/rpc';

export interface ForcedLaunch {
  readonly EvalID: string;
  readonly EvalCreateIndex: number;
  readonly Index: number;
}

/**
 * Has a periodic job launched now, by the holder of the broker role, which launches it on schedule too. Asked once: a
 * second ask would be a second launch.
 */
export class ForceLaunch {
  constructor(
    private readonly log: Pick<Log, 'lastSequence'>,
    private readonly rpc: Rpc,
    private readonly readable: (index: number) => Promise<unknown>,
  ) {}

  /** Answers once the launch can be read. @throws RpcError 500 with the contract's text, RpcUnavailableError */
  async launch(namespace: string, id: string): Promise<ForcedLaunch> {
    const AtIndex = await this.log.lastSequence(jobSubject(namespace, id));
    const { EvalID, Index } = await this.rpc.ask(forcePeriodic, { Namespace: namespace, JobID: id, AtIndex });
    await this.readable(Index);
    return { EvalID, EvalCreateIndex: Index, Index };
  }
}
