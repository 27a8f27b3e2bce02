import { MsgHdrsImpl } from '@nats-io/transport-node';

/**
 * A header block that is ready to be sent, as NATS has it on the wire, all ASCII; the client's own map costs more than the
 * rest of a publish. Nothing can be added to it.
 */
export class ReadyHeaders extends MsgHdrsImpl {
  constructor(private readonly block: string) {
    super();
  }
  override encode(): Uint8Array {
    return Buffer.from(this.block, 'latin1');
  }
}
