import { LogRecovery, Requester } from '@waybill/api';
import { type Actor, isSameMark } from '@waybill/state';
import { TransactionWriter } from '@waybill/writing';
import type { SeededRandom } from '../kernel/seeded-random.js';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import { openPlainArchive, plainArchive } from './plain-archive.js';
import type { Server } from './server.js';
import { SimulatedLog } from './simulated-log.js';
import { DatabaseConnection } from './simulated-postgres.js';
import type { World } from './world.js';

/** As whom the operator writes. */
export const LOG_OPERATOR = 'operator of the log';
const OPERATOR: Actor = { Kind: 'anonymous', ID: '', Name: LOG_OPERATOR };

/** From an alert to a decision, and to another try where it could not be carried out, milliseconds. */
const DECIDES_AFTER_MS = [2_000, 30_000] as const;

/** A process that stood still notices later than the operator looks first. */
const LOOKS = 3;

/**
 * The operator of docs/power-cuts.md. After a power cut, the operator adopts the log if a service reports another log than
 * the known one, or if Postgres has transactions that the log has lost. The code of production carries the decision out,
 * in a process of its own, and again until it succeeds.
 */
export class LogOperator {
  private isOnDuty = false;
  private looksLeft = 0;
  /** Decisions that were carried out. */
  decided = 0;

  constructor(
    private readonly world: World,
    private readonly servers: readonly Server[],
    private readonly random: SeededRandom,
  ) {}

  /** There was a power cut, or an alert: looks until all is well, and some more times. */
  look(): void {
    this.looksLeft = LOOKS;
    if (this.isOnDuty) return;
    this.isOnDuty = true;
    this.lookLater();
  }

  /** Somebody waits for a decision, in words; undefined: nobody does. */
  get undecided(): string | undefined {
    const diverged = this.servers.find(({ history }) => history?.divergence !== undefined);
    if (diverged) return `${diverged.name} waits for a decision on the log`;
    return this.isPostgresAhead ? 'Postgres has what the log has lost' : undefined;
  }

  private get isPostgresAhead(): boolean {
    const { postgres, stream } = this.world;
    const recorded = postgres.markAt(postgres.appliedIndex);
    const found = recorded && stream.markAt(recorded.index);
    return recorded !== undefined && !(found && isSameMark(recorded, found));
  }

  private lookLater(): void {
    this.world.simulator.schedule(this.random.between(...DECIDES_AFTER_MS), 'the operator looks', () => {
      if (this.undecided !== undefined) void this.adopt().then(() => this.lookLater());
      else if (--this.looksLeft > 0) this.lookLater();
      else this.isOnDuty = false;
    });
  }

  private async adopt(): Promise<void> {
    const process = this.world.spawn('operator');
    const requester = Requester.inOtherRegion({ Actor: OPERATOR, Reason: '', RequestID: process.newId() }, undefined);
    try {
      await this.recovery(process).adopt(requester);
      this.decided++;
    } catch {
      // it is made again
    } finally {
      process.kill();
    }
  }

  private recovery(process: SimulatedProcess): LogRecovery {
    const { world } = this;
    const { newId } = process;
    const database = new DatabaseConnection(process, world.postgres, () => {});
    const openJournal = (): SimulatedLog =>
      new SimulatedLog(process, world.stream, world.wire, world.archives.archivesOf(process));
    const unused = (): never => {
      throw new Error('only drafts are made');
    };
    return new LogRecovery({
      openJournal,
      marks: () => database.marks(),
      lostAbove: async () => [],
      restoredIndex: async () => 0,
      leases: () => database.leases(),
      rewind: (rewound) => database.rewind(rewound),
      events: world.events.decidedBy(process),
      pack: async (machine) => {
        const bytes = plainArchive(machine);
        return { meta: { Index: machine.appliedIndex }, bytes };
      },
      open: async (bytes) => openPlainArchive(bytes),
      divergence: () => undefined,
      writer: new TransactionWriter({
        log: { propose: unused },
        clock: process,
        newId,
        region: world.region,
        caughtUp: unused,
      }),
      newId,
      logger: world.logger(process.name),
    });
  }
}
