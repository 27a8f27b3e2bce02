import { MsgHdrsImpl } from '@nats-io/transport-node';

/**
 * An encoded header block in NATS' wire form, all ASCII. The client's own map costs more than the rest of a publish. No
 * header can be added to it.
 */
export class ReadyHeaders extends MsgHdrsImpl {
  constructor(private readonly block: string) {
    super();
  }
  override encode(): Uint8Array {
    return Buffer.from(this.block, 'latin1');
  }
}
