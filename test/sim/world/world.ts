import { MachineClock } from '@waybill/service';
import { draftTxn, serviceActor } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';
import { silentLogger } from '@waybill/telemetry';
import type { SeededRandom } from '../kernel/seeded-random.js';
import { SimulatedProcess } from '../kernel/simulated-process.js';
import type { Simulator } from '../kernel/simulator.js';
import { AnnouncementChannel } from './announcement-channel.js';
import { ArchiveStore } from './archive-store.js';
import { CallExchange } from './call-exchange.js';
import { EventStore } from './event-store.js';
import { LeaseBucket } from './lease-bucket.js';
import type { RegionLink } from './region-link.js';
import { SimulatedPostgres } from './simulated-postgres.js';
import { StorageProvider } from './storage-provider.js';
import { messageOf, TxnStream } from './txn-stream.js';
import { type AskingNats, Wire } from './wire.js';

const ASKING_THE_TIME: AskingNats = { timeoutMs: 5_000, unheard: 'loss', unanswered: 'loss' };

/** All that stands around the processes of a cluster, which is one region: one NATS, one Postgres, the network to both. */
export class World {
  readonly wire: Wire;
  readonly stream: TxnStream;
  readonly archives: ArchiveStore;
  readonly calls: CallExchange;
  readonly leases: LeaseBucket;
  readonly postgres: SimulatedPostgres;
  readonly events: EventStore;
  readonly announcements: AnnouncementChannel;
  readonly provider: StorageProvider;
  /** What services log; silent unless somebody wants to read it. */
  logger: (processName: string) => Logger = () => silentLogger;
  /** APIs read for users, and check what these may see. */
  hasAccessControl = false;
  /** Wraps root keys: 32 bytes in hexadecimal. Undefined: the keyring is off, and variables are not encrypted. */
  clusterKey: string | undefined;
  /** Tasks that should run for ever end by themselves now and then. */
  tasksFail = true;
  /** To the other regions, by their names. */
  readonly links = new Map<string, RegionLink>();
  private starts = 0;

  constructor(
    readonly simulator: Simulator,
    readonly random: SeededRandom,
    readonly region: string,
  ) {
    this.wire = new Wire(simulator, random.fork('wire'), random.fork('reconnecting'));
    this.stream = new TxnStream(simulator);
    this.archives = new ArchiveStore(this.wire);
    this.calls = new CallExchange(this.wire, random.fork('calls'));
    this.leases = new LeaseBucket(simulator, this.wire);
    this.postgres = new SimulatedPostgres(simulator, this.wire);
    this.events = new EventStore(this.wire, random.fork('events'));
    this.announcements = new AnnouncementChannel(this.wire);
    this.provider = new StorageProvider(this.wire, random.fork('provider'));
  }

  /** A process begins. The same name may be started again after it died. */
  spawn(name: string): SimulatedProcess {
    return new SimulatedProcess(this.simulator, name, this.random.fork(`${name}#${++this.starts}`));
  }

  /** The clock that the programs of a process read: its wall clock, doubted as in production. */
  clockOf(process: SimulatedProcess): MachineClock {
    const { monotonic } = process;
    return new MachineClock({
      clocks: { wall: process, monotonic },
      timers: process,
      logger: this.logger(process.name),
    });
  }

  /** Asks NATS for the time on behalf of a process. The clock of NATS is right. */
  async natsTime(process: SimulatedProcess): Promise<{ readonly unixMs: number; readonly tripMs: number }> {
    const askedMs = process.monotonic.nowMs();
    const unixMs = await this.wire.ask(process, 'time', ASKING_THE_TIME, () => this.simulator.nowMs);
    return { unixMs, tripMs: process.monotonic.nowMs() - askedMs };
  }

  /** The first transaction of a log, as the first service that starts writes it. */
  initialise(): void {
    const draft = draftTxn(
      'Initialise',
      {},
      { timeNs: this.simulator.nowMs * 1e6, requestId: 'initialise', actor: serviceActor('waybill') },
    );
    this.stream.append(messageOf(draft), undefined);
  }
}
