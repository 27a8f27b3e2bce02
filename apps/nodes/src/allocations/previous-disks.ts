import { findTaskGroup, isClientTerminal, Refusal } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import {
  type Authority,
  listFiles,
  type ListFilesResponse,
  type ListPreviousDiskRequest,
  MAX_FILE_CHUNK_BYTES,
  readFile,
  type ReadFileResponse,
  type ReadPreviousDiskRequest,
  type Rpc,
  RpcUnavailableError,
} from '@waybill/rpc';
import { permissionDenied, provenNode } from '../node/node-access.js';

interface WantedFile {
  /** The node that has the disk. */
  readonly target: string;
  readonly AllocID: string;
  readonly Path: string;
}

/**
 * Lets a machine read the disk of the allocation that one of its own replaces, from the machine on which that one ended
 * (AG-224): machines have no connection to each other, and no right to read more than this. Any replica answers;
 * stateless.
 */
export class PreviousDisks {
  constructor(
    private readonly state: ReplicatedState,
    private readonly rpc: Rpc,
  ) {}

  /**
   * @throws Refusal forbidden; not-found; conflict if this replica is behind, or the allocation has not ended, or its
   * machine says so: after a restore the machine may know better; unavailable if that machine does not answer
   */
  list(request: ListPreviousDiskRequest): Promise<ListFilesResponse> {
    const { target, ...file } = this.wanted(request);
    const wanted = { ...file, After: request.After, IfEnded: true };
    return fromMachine(this.rpc.ask(listFiles, wanted, { target, authority: this.forMachine(request) }));
  }

  /** The next part of a file, empty at its end. @throws Refusal as `list` */
  readFile(request: ReadPreviousDiskRequest): Promise<ReadFileResponse> {
    const { target, ...file } = this.wanted(request);
    const piece = {
      ...file,
      Origin: 'start',
      Offset: request.Offset,
      Limit: MAX_FILE_CHUNK_BYTES,
      WaitMs: 0,
      IfEnded: true,
    } as const;
    return fromMachine(this.rpc.ask(readFile, piece, { target, authority: this.forMachine(request) }));
  }

  /** The machine with the disk checks again that the reader has the allocation that replaces the one there. */
  private forMachine({ NodeID }: ListPreviousDiskRequest | ReadPreviousDiskRequest): Authority {
    return { user: { Kind: 'node', NodeID, AtIndex: this.state.appliedIndex } };
  }

  private wanted(request: ListPreviousDiskRequest | ReadPreviousDiskRequest): WantedFile {
    const { NodeID, SecretID, AllocID, Path, MinStateIndex } = request;
    const { tables } = this.state;
    const node = provenNode(tables, NodeID, SecretID);
    // To such a replica the allocation does not exist, and its disk would count as gone.
    if (MinStateIndex !== undefined && this.state.appliedIndex < MinStateIndex)
      throw new Refusal('conflict', 'this server does not know the allocation yet');
    const alloc = tables.allocs.get(AllocID);
    if (!alloc) throw new Refusal('not-found', 'alloc not found');
    const disk = alloc.Job ? findTaskGroup(alloc.Job, alloc.TaskGroup)?.EphemeralDisk : undefined;
    if (alloc.NodeID !== node.ID || !disk?.Sticky || !disk.Migrate) throw permissionDenied();
    const previous = tables.allocs.get(alloc.PreviousAllocation);
    const isSame = previous?.JobID === alloc.JobID && previous.Namespace === alloc.Namespace;
    if (!previous || !isSame || previous.TaskGroup !== alloc.TaskGroup)
      throw new Refusal('not-found', 'there is no allocation before this one');
    if (!isKeptByDisk(Path)) throw permissionDenied();
    // A disconnected allocation is neither waited for (AG-53) nor read: its tasks may run until its machine reports
    // otherwise.
    if (previous.ClientStatus === 'unknown' || previous.ClientStatus === 'lost')
      throw new Refusal('unavailable', 'its machine is disconnected, or has not said yet that it has ended');
    if (!isClientTerminal(previous)) throw new Refusal('conflict', 'the allocation before has not ended yet');
    return { target: previous.NodeID, AllocID: previous.ID, Path };
  }
}

/** Whether a sticky disk keeps the path: `/alloc/data`, `/<task>/local` and everything below. */
function isKeptByDisk(path: string): boolean {
  const [empty, ...parts] = path.split('/');
  if (empty !== '' || parts.some((part) => part === '' || part === '.' || part === '..')) return false;
  const [first, second] = parts;
  return second === (first === 'alloc' ? 'data' : 'local');
}

async function fromMachine<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof RpcUnavailableError) throw new Refusal('unavailable', error.message);
    throw error;
  }
}
