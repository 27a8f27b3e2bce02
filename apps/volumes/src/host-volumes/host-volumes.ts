import type { Author } from '@waybill/writing';
import type { HolderWriter } from '@waybill/roles';
import {
  type HostVolume,
  type HostVolumeSpecification,
  Turns,
  validateHostVolume,
  validateHostVolumeUpdate,
  Refusal,
} from '@waybill/model';
import type { WriteHostVolumeResponse } from '@waybill/rpc';
import { hostVolumeUsers, namespacedKey, type Tables } from '@waybill/state';
import { failing } from '../commands/errors.js';
import { RequestWriter } from '../commands/request-writer.js';
import { type HostVolumeNodes, NodeRefusedError } from './host-volume-nodes.js';
import { placeHostVolume } from './host-volume-placement.js';
import { type HostVolumeOrigin, newHostVolume, updatedHostVolume } from './host-volume-record.js';

export interface HostVolumesDeps {
  readonly tables: Tables;
  readonly writer: HolderWriter;
  readonly nodes: HostVolumeNodes;
  readonly newId: () => string;
}

/**
 * Dynamic host volumes (3.30): directories of one machine, which a plugin of its agent creates or an operator
 * registers.
 *
 * A new volume is recorded as `pending`, then created, then recorded as created, so that a failure between these steps
 * shows in the state. If its machine refused it, the record is deleted. If the outcome is unknown, the record stays,
 * and the volume can be created again by its ID, or deleted. An existing volume is changed first and recorded then. The
 * machine's own report makes a volume ready (VL-289).
 * Limits: one request at a time for each volume (VL-290); one placement at a time for each name, because a machine has
 * at most one volume of a name and the next placement must see this one. One instance for each term.
 */
export class HostVolumes {
  private readonly turns = new Turns();
  private readonly placing = new Turns();

  constructor(private readonly deps: HostVolumesDeps) {}

  /** @throws Refusal, NotHolderError */
  create(given: HostVolumeSpecification, by: Partial<Author>): Promise<WriteHostVolumeResponse> {
    return this.write('create', given, by);
  }

  /** Registers an existing directory. @throws as `create` */
  register(given: HostVolumeSpecification, by: Partial<Author>): Promise<WriteHostVolumeResponse> {
    return this.write('register', given, by);
  }

  /**
   * Deletes a volume (VL-292). Resolves with the index. @param force also if its machine cannot be reached @throws as
   * `create`
   */
  delete(namespace: string, id: string, force: boolean, by: Partial<Author>): Promise<number> {
    return this.turns.runInTurn(id, async () => {
      const { tables, writer, nodes } = this.deps;
      const volume = tables.host_volumes.get(namespacedKey(namespace, id));
      if (!volume) throw new Refusal('not-found', `no such volume: ${id}`);
      const users = usersOf(tables, volume);
      if (users.length > 0) throw new Refusal('conflict', `volume ${id} in use by allocations: [${users.join(' ')}]`);
      await nodes.delete(volume).catch((error: unknown) => {
        if (!(error instanceof NodeRefusedError) || error.wasReached) throw error;
        if (!force) throw new Refusal('conflict', 'volume cannot be removed from unknown node without force=true');
      });
      return await writer.write('HostVolumeDelete', { ID: id }, namespace, by);
    });
  }

  /**
   * Deletes the claim of a task group on a sticky volume (VL-294). Resolves with the index. @throws Refusal,
   * NotHolderError
   */
  deleteClaim(namespace: string, id: string, by: Partial<Author>): Promise<number> {
    return this.deps.writer.write('TaskGroupHostVolumeClaimDelete', { ID: id }, namespace, by);
  }

  private write(
    origin: HostVolumeOrigin,
    given: HostVolumeSpecification,
    by: Partial<Author>,
  ): Promise<WriteHostVolumeResponse> {
    const id = given.ID || this.deps.newId();
    return this.turns.runInTurn(id, async () => {
      const writer = new RequestWriter(this.deps.writer, by);
      const stored = this.checkSubmission(given);
      const volume = stored ? updatedHostVolume(stored, given, origin) : newHostVolume(given, origin, id);
      this.refuseMisplaced(volume, origin);
      if (stored) return await recordVolume(await this.carryOutOnNode(volume, origin), writer);
      const placed = await this.placing.runInTurn(volume.Name, () => this.recordedAtPlace(volume, origin, writer));
      const made = await this.carryOutOnNode(placed, origin).catch((error: unknown) =>
        withdrawVolume(placed, writer, error),
      );
      return await recordVolume(made, writer);
    });
  }

  /** Checks a submission (VL-283, VL-284, VL-286). The stored volume, if the submission changes one. @throws Refusal */
  private checkSubmission(given: HostVolumeSpecification): HostVolume | undefined {
    const { tables } = this.deps;
    const { ID, Namespace } = given;
    const isKnownSpace = tables.namespaces.has(Namespace);
    const problem = validateHostVolume(given) || (isKnownSpace ? '' : `no such namespace "${Namespace}"`);
    if (problem !== '') throw new Refusal('invalid', `volume validation failed: ${problem}`);
    if (ID === '') return undefined;
    const stored = tables.host_volumes.get(namespacedKey(Namespace, ID));
    if (!stored) throw new Refusal('not-found', `cannot update volume "${ID}": volume does not exist`);
    const conflict = validateHostVolumeUpdate(stored, given, usersOf(tables, stored));
    if (conflict !== '') throw new Refusal('invalid', `validating volume "${ID}" update failed: ${conflict}`);
    return stored;
  }

  /** Refuses a volume whose machine or pool does not fit it (VL-287, VL-291). @throws Refusal */
  private refuseMisplaced(volume: HostVolume, origin: HostVolumeOrigin): void {
    if (origin === 'register') {
      if (volume.NodeID === '') throw new Refusal('invalid', 'cannot register volume: node ID is required');
      if (volume.HostPath === '') throw new Refusal('invalid', 'cannot register volume: host path is required');
    }
    const problem = unknownPlace(this.deps.tables, volume);
    const named = origin === 'create' ? volume.Name : volume.ID;
    if (problem !== undefined)
      throw new Refusal('invalid', `validating volume "${named}" against state failed: ${problem}`);
  }

  /**
   * Chooses the machine and records the volume (VL-288, VL-289). If the request comes twice, to this holder or to two
   * of them, only the first copy counts (ST-6): the state has the volume that was chosen for it, and no second machine
   * is asked.
   */
  private async recordedAtPlace(
    volume: HostVolume,
    origin: HostVolumeOrigin,
    writer: RequestWriter,
  ): Promise<HostVolume> {
    const placed = origin === 'create' ? this.withPlace(volume) : volume;
    await recordVolume(placed, writer);
    if (!this.deps.tables.host_volumes.has(namespacedKey(placed.Namespace, placed.ID)))
      throw new Refusal('conflict', 'this request has been carried out before');
    return placed;
  }

  private withPlace(volume: HostVolume): HostVolume {
    const { ID: NodeID, NodePool } = placeHostVolume(this.deps.tables, volume);
    return { ...volume, NodeID, NodePool };
  }

  /** Carries out the request on the volume's machine. Resolves with the volume as it is there. */
  private async carryOutOnNode(volume: HostVolume, origin: HostVolumeOrigin): Promise<HostVolume> {
    const { nodes } = this.deps;
    if (origin === 'create') return { ...volume, ...(await nodes.create(volume)) };
    await nodes.register(volume);
    return volume;
  }
}

const usersOf = (tables: Tables, volume: HostVolume): string[] => hostVolumeUsers(tables, volume).map(({ ID }) => ID);

function unknownPlace({ nodes, node_pools }: Tables, { NodeID, NodePool }: HostVolume): string | undefined {
  const node = nodes.get(NodeID);
  if (NodeID !== '' && !node) return `node "${NodeID}" does not exist`;
  if (NodePool === '') return undefined;
  if (!node_pools.has(NodePool)) return `node pool "${NodePool}" does not exist`;
  return node && node.NodePool !== NodePool ? `node ID "${NodeID}" is not in pool "${NodePool}"` : undefined;
}

async function recordVolume(volume: HostVolume, writer: RequestWriter): Promise<WriteHostVolumeResponse> {
  return { Index: await writer.write('HostVolumeRegister', { Volume: volume }, volume.Namespace), ID: volume.ID };
}

/** Deletes the record of a volume that was certainly not created. @throws always */
async function withdrawVolume(volume: HostVolume, writer: RequestWriter, error: unknown): Promise<never> {
  if (!(error instanceof NodeRefusedError)) return failing(`volume "${volume.ID}" stays pending: `)(error);
  await writer.write('HostVolumeDelete', { ID: volume.ID }, volume.Namespace);
  throw error;
}
