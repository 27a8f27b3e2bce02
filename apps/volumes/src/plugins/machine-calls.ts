import { NotHolderError } from '@waybill/model';
import type { Term } from '@waybill/roles';
import { type Call, type CallFence, isGone, isNobodyThere, type Rpc } from '@waybill/rpc';
import { traceparentOf, type Tracer, withSpan } from '@waybill/telemetry';
import { VolumeStepError } from '../commands/errors.js';

/** The machine is not connected, so nothing was sent to it (VL-103). */
export class NoPathError extends VolumeStepError {
  constructor() {
    super('No path to node');
  }
}

/** The machine died, or its agent restarted, during a call: the outcome is unknown, and the call may be repeated. */
export class LostInTheMiddleError extends VolumeStepError {
  constructor() {
    super('the client was lost in the middle of the call');
  }
}

/**
 * Calls machines; every call has a span of its own (VL-149). Calls have no timeout and cannot be canceled (VL-132). One
 * instance for each term. When the term is over, or its lease expired while this process was suspended, no call is
 * made: the successor decides on what is still to be done (VL-303).
 */
export class MachineCalls {
  constructor(
    private readonly rpc: Rpc,
    private readonly tracer: () => Tracer,
    private readonly term: Pick<Term, 'role' | 'epoch' | 'holder' | 'isCurrent'>,
  ) {}

  /**
   * @throws NotHolderError, NoPathError, LostInTheMiddleError, RpcError if the machine refused, RpcUnavailableError if
   * the outcome is unknown
   */
  async callMachine<Req, Res>(call: Call<Req, Res>, nodeId: string, request: Req): Promise<Res> {
    const authority = { fence: this.fence() };
    return await withSpan(this.tracer(), call.name, { attributes: { 'waybill.node': nodeId } }, async (span) => {
      try {
        return await this.rpc.ask(call, request, {
          target: nodeId,
          traceparent: traceparentOf(span),
          authority,
        });
      } catch (error) {
        if (isGone(error)) throw new LostInTheMiddleError();
        throw isNobodyThere(error) ? new NoPathError() : error;
      }
    });
  }

  /** The fence of the term, made for each call, so that no code keeps one (AU-254). @throws NotHolderError */
  private fence(): CallFence {
    const { role: Role, epoch: Epoch, holder: Holder } = this.term;
    if (!this.term.isCurrent()) throw new NotHolderError();
    return { Role, Epoch, Holder };
  }
}
