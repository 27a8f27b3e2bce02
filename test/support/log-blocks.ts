import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { connect, ensureStreams, type NatsLink } from '@waybill/journal';
import { startNats } from '@waybill/embedded';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';

/** Of a record: length, sequence, time, length of the subject. Behind the message comes its checksum. */
const RECORD_HEAD = 22;
const SEQUENCE_AT = 4;
const SUBJECT_LENGTH_AT = 20;
const CHECKSUM_BYTES = 8;
const LENGTH_BITS = 0x7fff_ffff;

interface FoundRecord {
  readonly file: string;
  readonly at: number;
  readonly bytes: Buffer;
}

/** The files in which a nats-server keeps the log, for tests that change them behind its back. */
export class LogBlocks {
  /** @param dir the directory that the server was started in, with the account that has the log */
  constructor(
    private readonly dir: string,
    private readonly account = '$G',
  ) {}

  /** How many files there are: NATS keeps the last one in memory as long as it is in use. */
  get count(): number {
    return this.files().length;
  }

  /** Changes the last byte of a message, and not its checksum. */
  flip(index: number): void {
    const { file, at, bytes } = this.record(index);
    const last = bytes.length - CHECKSUM_BYTES - 1;
    write(file, at + last, Buffer.from([(bytes[last] ?? 0) ^ 1]));
  }

  /**
   * Changes the last byte of a message, and its checksum with it: to the record that another server writes for a log which
   * differs in this byte.
   */
  async flipWithChecksum(index: number, link: NatsLink, scratch: string): Promise<void> {
    const before = this.record(index);
    const twin = await startNats({ dir: scratch });
    try {
      const other = await connect({ url: twin.url, name: 'twin' });
      await ensureStreams(other, { replicas: 1 });
      const manager = await jetstreamManager(link.nc);
      for (let seq = 1; seq <= index; seq++) {
        const message = await manager.streams.getMessage('TXN', { seq });
        if (!message) throw new Error(`the log has no message ${seq}`);
        const body = Buffer.from(message.data);
        if (seq === index) body[body.length - 1] = (body.at(-1) ?? 0) ^ 1;
        await jetstream(other.nc).publish(message.subject, body, { headers: message.header });
      }
      await other.close();
    } finally {
      await twin.stop();
    }
    const { bytes } = new LogBlocks(scratch).record(index);
    if (bytes.length !== before.bytes.length) throw new Error('the record of the other log has another length');
    write(before.file, before.at, bytes);
  }

  private files(): string[] {
    const messages = path.join(this.dir, 'streams', 'jetstream', this.account, 'streams', 'TXN', 'msgs');
    return readdirSync(messages)
      .filter((name) => name.endsWith('.blk'))
      .map((name) => path.join(messages, name));
  }

  private record(index: number): FoundRecord {
    for (const file of this.files()) {
      const block = readFileSync(file);
      for (let at = 0; at + RECORD_HEAD < block.length;) {
        const length = block.readUInt32LE(at) & LENGTH_BITS;
        const isMessage = block.readUInt16LE(at + SUBJECT_LENGTH_AT) > 0;
        if (isMessage && block.readBigUInt64LE(at + SEQUENCE_AT) === BigInt(index))
          return { file, at, bytes: block.subarray(at, at + length) };
        at += length;
      }
    }
    throw new Error(`no file has message ${index}`);
  }
}

function write(file: string, at: number, bytes: Buffer): void {
  const open = openSync(file, 'r+');
  writeSync(open, bytes, 0, bytes.length, at);
  closeSync(open);
}
