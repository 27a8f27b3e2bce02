import { NotHolderError } from '@waybill/model';
import type { Term } from '@waybill/roles';
import { type Call, isGone, isNobodyThere, type Rpc } from '@waybill/rpc';
import { traceparentOf, type Tracer, withSpan } from '@waybill/telemetry';
import { VolumeStepError } from '../commands/errors.js';

export const NO_PATH = 'No path to node';

/** Nothing was sent: the machine is not connected (VL-103). */
export class NoPathError extends VolumeStepError {
  constructor() {
    super(NO_PATH);
  }
}

/** The machine has died, or its agent was started anew, in the middle of it: nobody knows how far it got, and asking again is safe. */
export class LostInTheMiddleError extends VolumeStepError {
  constructor() {
    super('the client was lost in the middle of the call');
  }
}

/**
 * Asks one machine; every call has a span of its own (VL-149). Calls last as long as they take, and cannot be taken back (VL-132).
 * One per term. When that is over, or its lease has run out while this process stood still, it asks nobody: what a deposed
 * holder would still have done is its successor's to decide (VL-303).
 */
export class MachineCalls {
  constructor(
    private readonly rpc: Rpc,
    private readonly tracer: () => Tracer,
    private readonly term: Pick<Term, 'isCurrent'>,
  ) {}

  /** @throws NotHolderError, NoPathError, LostInTheMiddleError, RpcError with what the machine refused, RpcUnavailableError nobody knows what became of it */
  async ask<Req, Res>(call: Call<Req, Res>, nodeId: string, request: Req): Promise<Res> {
    if (!this.term.isCurrent()) throw new NotHolderError();
    return await withSpan(this.tracer(), call.name, { attributes: { 'waybill.node': nodeId } }, async (span) => {
      try {
        return await this.rpc.ask(call, request, { target: nodeId, traceparent: traceparentOf(span) });
      } catch (error) {
        if (isGone(error)) throw new LostInTheMiddleError();
        throw isNobodyThere(error) ? new NoPathError() : error;
      }
    });
  }
}
