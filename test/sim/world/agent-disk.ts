import type { AllocDirectories, AllocRecord, AllocRecords } from '@waybill/agent';
import type { Allocation } from '@waybill/model';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import { frozen } from './frozen.js';

const PATHS = {
  allocDir: '/a',
  logsDir: '/a/logs',
  taskDir: '/t',
  localDir: '/t/local',
  secretsDir: '/t/secrets',
  privateDir: '/t/private',
};

/** The allocation is most of a record, the same each time and never changed: it is made text only when it is read. */
interface StoredRecord {
  readonly alloc: Allocation;
  readonly rest: string;
}

const storedRecord = ({ alloc, ...rest }: AllocRecord): StoredRecord => ({
  alloc: frozen(alloc),
  rest: JSON.stringify(rest),
});

const readRecord = ({ alloc, rest }: StoredRecord): AllocRecord => ({
  ...(JSON.parse(rest) as Omit<AllocRecord, 'alloc'>),
  alloc: JSON.parse(JSON.stringify(alloc)) as Allocation,
});

/** What an agent keeps on the disk of its machine: outlives the agent and the machine's power. Writing takes no time. */
export class AgentDisk {
  private readonly records = new Map<string, StoredRecord>();

  /** A dead agent writes nothing. */
  recordsFor(agent: SimulatedProcess): AllocRecords {
    return {
      save: async (record) => {
        if (agent.isAlive) this.records.set(record.alloc.ID, storedRecord(record));
      },
      remove: async (allocId) => {
        if (agent.isAlive) this.records.delete(allocId);
      },
      load: async () => [...this.records.values()].map(readRecord),
    };
  }

  readonly directories: AllocDirectories = {
    build: async () => PATHS,
    exists: async () => true,
    inherit: async () => {},
    remove: async () => {},
  };
}
