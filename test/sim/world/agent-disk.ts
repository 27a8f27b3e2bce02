import type { AllocationDirectories, AllocationRecord, AllocationRecords, IncomingDisk } from '@waybill/agent';
import {
  type AllocFileInfo,
  type AllocFileRequest,
  type ListFilesResponse,
  type ReadFileRequest,
  type ReadFileResponse,
  RpcError,
} from '@waybill/rpc';
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

/** The one file of an allocation's disk: a line for each start of a task that had it. */
const FILE = 'starts';
const SHARED_DATA = '/alloc/data';
/** Of a file, in one answer: so few that a disk is moved in several steps. */
const PIECE_BYTES = 50;

/** Who wants to know what becomes of disks. */
export interface DiskWitness {
  /** What an allocation keeps on its disk is taken by another one. */
  taken(allocId: string): void;
  /** A disk has come from another machine, with this in its file. */
  moved(allocId: string, text: string): void;
}

/** As the next agent reads it: from its text. */
const readRecord = (record: AllocationRecord): AllocationRecord =>
  JSON.parse(JSON.stringify(record)) as AllocationRecord;

/** What an agent keeps on the disk of its machine: outlives the agent and the machine's power. Writing takes no time. */
export class AgentDisk {
  /** Directories of allocations, with what is in their file. */
  private readonly files = new Map<string, string>();
  private readonly records = new Map<string, AllocationRecord>();

  constructor(private readonly witness: DiskWitness) {}

  /** What an allocation has on its disk; undefined: it has none here. */
  textOf(allocId: string): string | undefined {
    return this.files.get(allocId);
  }

  /** One of its tasks starts, and writes so. */
  started(allocId: string): void {
    const before = this.files.get(allocId);
    if (before !== undefined) this.files.set(allocId, `${before}${allocId}\n`);
  }

  /** A dead agent writes nothing. */
  recordsFor(agent: SimulatedProcess): AllocationRecords {
    return {
      save: async (record) => {
        if (agent.isAlive) this.records.set(record.alloc.ID, frozen(record));
      },
      remove: async (allocId) => {
        if (agent.isAlive) this.records.delete(allocId);
      },
      load: async () => [...this.records.values()].map(readRecord),
    };
  }

  readonly directories: AllocationDirectories = {
    build: async (allocId) => {
      if (!this.files.has(allocId)) this.files.set(allocId, '');
      return PATHS;
    },
    exists: async (allocId) => this.files.has(allocId),
    list: async () => [...this.files.keys()],
    inheritDisk: async (from, to) => {
      this.witness.taken(from);
      this.files.set(to, this.files.get(from) ?? '');
      this.files.set(from, '');
    },
    remove: async (allocId) => void this.files.delete(allocId),
  };

  /** A disk that comes from another machine; what a dead agent had begun is gone. */
  incomingFor(agent: SimulatedProcess, allocId: string): IncomingDisk {
    let text = '';
    return {
      directory: async () => {},
      file: async () => ({
        write: async (data) => void (text += data.toString()),
        close: async () => {},
      }),
      complete: async () => {
        if (!agent.isAlive) return;
        this.witness.moved(allocId, text);
        this.files.set(allocId, text);
      },
      discard: async () => {},
    };
  }

  /** @throws RpcError */
  list({ AllocID, Path }: AllocFileRequest): ListFilesResponse {
    const Size = this.read(AllocID).length;
    return { Files: Path === SHARED_DATA ? [aFile(Size)] : [], More: false };
  }

  /** @throws RpcError */
  piece({ AllocID, Offset }: ReadFileRequest): ReadFileResponse {
    const text = this.read(AllocID).slice(Offset, Offset + PIECE_BYTES);
    return { Data: Buffer.from(text).toString('base64'), Offset, FileEvent: '' };
  }

  private read(allocId: string): string {
    const text = this.files.get(allocId);
    if (text === undefined) throw new RpcError('not-found', `allocation ${allocId} has no directory`);
    this.witness.taken(allocId);
    return text;
  }
}

const aFile = (Size: number): AllocFileInfo => ({
  Name: FILE,
  IsDir: false,
  Size,
  FileMode: '-rw-r--r--',
  ModTime: '',
});
