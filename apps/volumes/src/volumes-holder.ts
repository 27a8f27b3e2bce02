import { HolderWriter, type Singleton, type Term } from '@waybill/roles';
import { type Clock, type Timers, NotHolderError } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import type { Rpc } from '@waybill/rpc';
import type { Applied } from '@waybill/state';
import type { Logger, Tracer } from '@waybill/telemetry';
import { ClaimCommand } from './commands/claim-command.js';
import { CreateCommand } from './commands/create-command.js';
import { DeleteCommand } from './commands/delete-command.js';
import { DeregisterCommand } from './commands/deregister-command.js';
import { ExternalVolumes } from './plugins/external-volumes.js';
import { HostVolumeNodes } from './host-volumes/host-volume-nodes.js';
import { HostVolumes } from './host-volumes/host-volumes.js';
import { MachineCalls } from './plugins/machine-calls.js';
import { PluginCalls } from './plugins/plugin-calls.js';
import { ProviderSnapshots } from './plugins/provider-snapshots.js';
import { RegisterCommand } from './commands/register-command.js';
import { UnpublishWorkflow } from './releases/unpublish-workflow.js';
import { VolumeExpansion } from './commands/volume-expansion.js';
import { VolumeTurns } from './releases/volume-turns.js';
import { VolumeWatcher } from './releases/volume-watcher.js';

export interface VolumesHolderDeps {
  readonly state: ReplicatedState;
  readonly rpc: Rpc;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
  readonly logger: Logger;
  readonly tracer: () => Tracer;
  readonly region: string;
}

/** The parts of one term, whose fence is in everything that they write (VL-148). */
export interface VolumesTerm {
  readonly writer: HolderWriter;
  readonly calls: PluginCalls;
  readonly unpublish: UnpublishWorkflow;
  readonly claims: ClaimCommand;
  readonly register: RegisterCommand;
  readonly create: CreateCommand;
  readonly deregister: DeregisterCommand;
  readonly delete: DeleteCommand;
  readonly snapshots: ProviderSnapshots;
  readonly external: ExternalVolumes;
  readonly hostVolumes: HostVolumes;
}

/**
 * Claims on volumes, calls to their plugins, and host volumes, while this process holds the role `volumes`.
 *
 * Modes: standby → holder → standby. `start` creates the parts of the term and enables the watcher, which checks all
 * volumes once. `stop` disables it and closes calls and writer: calls that wait for a plugin fail, and calls in
 * progress write nothing.
 */
export class VolumesHolder implements Singleton {
  readonly role = 'volumes';
  private readonly watcher = new VolumeWatcher();
  private held: VolumesTerm | undefined;

  constructor(private readonly deps: VolumesHolderDeps) {}

  /** The current term. @throws NotHolderError */
  get term(): VolumesTerm {
    if (!this.held) throw new NotHolderError();
    return this.held;
  }

  start(term: Term): void {
    const { rpc, tracer, state, clock, timers, logger, newId } = this.deps;
    const { tables } = state;
    const writer = new HolderWriter(this.deps, term.fence);
    const machines = new MachineCalls(rpc, tracer, term);
    const calls = new PluginCalls({ tables, machines });
    const unpublish = new UnpublishWorkflow({ state, writer, calls, tracer });
    const turns = new VolumeTurns();
    const deps = { tables, writer, calls, turns, expansion: new VolumeExpansion(tables, calls) };
    this.held = {
      writer,
      calls,
      unpublish,
      claims: new ClaimCommand({ state, writer, calls, unpublish, turns }),
      register: new RegisterCommand(deps),
      create: new CreateCommand(deps),
      deregister: new DeregisterCommand(writer, turns),
      delete: new DeleteCommand(deps),
      snapshots: new ProviderSnapshots(tables, calls),
      external: new ExternalVolumes(tables, calls),
      hostVolumes: new HostVolumes({ tables, writer, nodes: new HostVolumeNodes(machines), newId }),
    };
    this.watcher.enable({
      tables,
      clock,
      timers,
      logger,
      tracer,
      unpublish: (volume, claim) => unpublish.releaseClaim({ namespace: volume.Namespace, volumeId: volume.ID, claim }),
    });
  }

  applied(applied: Applied): void {
    this.watcher.applied(applied);
  }

  stop(): void {
    this.held?.calls.close();
    this.held?.writer.close(new NotHolderError());
    this.held = undefined;
    this.watcher.disable();
  }

  stats(): Record<string, number> {
    return this.watcher.stats();
  }
}
