import type { Applied } from '@waybill/state';
import { Readers } from './access/readers.js';
import { AcknowledgedWrites } from './checks/acknowledged-writes.js';
import type { GlobalStops } from './checks/global-stops.js';
import { Lies } from './checks/lies.js';
import { HostVolumeDirectories } from './checks/host-volumes.js';
import { LostEnds } from './checks/lost-ends.js';
import { MovedDisks } from './checks/moved-disks.js';
import { ReferenceState } from './checks/reference-state.js';
import { ReplicaAgreement } from './checks/replica-agreement.js';
import { RestoredStates } from './checks/restores.js';
import { reportDefects } from './checks/service-defects.js';
import { SharedApplications } from './checks/shared-application.js';
import { Variables } from './checks/variables.js';
import { VolumeClaims } from './checks/volume-claims.js';
import { CLUSTER_KEY, KeysRun } from './keys/keys-run.js';
import type { Report } from './checks/violation.js';
import type { SeededRandom } from './kernel/seeded-random.js';
import type { Simulator } from './kernel/simulator.js';
import { LogOperator } from './world/log-operator.js';
import { Machine } from './world/machine.js';
import type { SavedArchive } from './world/simulated-postgres.js';
import { Server } from './world/server.js';
import { World } from './world/world.js';

export interface ClusterSize {
  readonly servers: number;
  readonly machines: number;
  readonly access?: boolean;
  readonly keys?: boolean;
}

/** Where users read, Postgres refuses no namespace, for it would be missing in lists of all namespaces. */
const SPARED_FOR_READERS = new Set(['namespaces'] as const);
/** A root key that Postgres refused would make its variables unreadable. */
const SPARED_FOR_KEYS = new Set(['root_keys'] as const);
/** Machines are of one of these classes, which some jobs ask for. */
const NODE_CLASSES = ['small', 'large'];
/** Machines through which the servers reach the provider of disks. */
const CONTROLLERS = 2;

/** A whole cluster, one region: servers with all services, machines with agents, and those who watch that all is as it must be. */
export class Cluster {
  readonly world: World;
  readonly servers: readonly Server[];
  readonly machines: readonly Machine[];
  readonly reference: ReferenceState;
  readonly agreement: ReplicaAgreement;
  readonly writes: AcknowledgedWrites;
  readonly lostEnds: LostEnds;
  readonly claims: VolumeClaims;
  readonly movedDisks: MovedDisks;
  readonly hostVolumes: HostVolumeDirectories;
  readonly restores: RestoredStates;
  /** Undefined in a run with a keyring, which has other variables. */
  readonly variables: Variables | undefined;
  /** Clients and judgement of variables, locks and root keys, in a run with a keyring. */
  readonly keys: KeysRun | undefined;
  /** Judges what is read, in a run with access control. */
  readonly readers: Readers | undefined;
  /** Decides when the log has lost its end. */
  readonly operator: LogOperator;
  /** Archives that users have saved, oldest first. */
  readonly snapshots: SavedArchive[] = [];
  /** Of jobs of several regions, if there are several. */
  globalStops: GlobalStops | undefined;

  constructor(
    readonly simulator: Simulator,
    random: SeededRandom,
    size: ClusterSize,
    report: Report,
    region: string,
  ) {
    this.world = new World(simulator, random.fork('world'), region);
    this.reference = new ReferenceState(this.world.stream, this.world.archives, report);
    const names = Array.from({ length: size.servers }, (_, n) => `s${n + 1}`);
    const independent = random.fork('server that applies everything itself').pick(names);
    const shared = new SharedApplications(this.reference, independent, report);
    this.agreement = new ReplicaAgreement(this.reference, shared, report);
    this.lostEnds = new LostEnds(this.world.stream, this.world.postgres, () => simulator.nowMs, report);
    this.writes = new AcknowledgedWrites(this.reference, this.lostEnds, this.world.postgres, report);
    this.servers = names.map((name) => new Server(name, this.world, this.agreement));
    this.machines = Array.from(
      { length: size.machines },
      (_, n) => new Machine(`m${n + 1}`, NODE_CLASSES[n % NODE_CLASSES.length] ?? '', n < CONTROLLERS, this.world),
    );
    this.claims = new VolumeClaims(this.reference, this.world.provider, this.machines, report);
    this.movedDisks = new MovedDisks(this.reference, this.machines, report);
    this.hostVolumes = new HostVolumeDirectories(this.reference, this.machines);
    this.restores = new RestoredStates(this.reference, report);
    if (!size.keys) this.variables = new Variables(this.reference, this.lostEnds, () => simulator.nowMs, report);
    this.operator = new LogOperator(this.world, this.servers, random.fork('operator'));
    if (size.access) {
      this.world.hasAccessControl = true;
      this.world.postgres.spares = SPARED_FOR_READERS;
      this.readers = new Readers(this.reference, this.world.postgres.everRefused, report);
    }
    if (size.keys) {
      this.world.clusterKey = CLUSTER_KEY;
      this.world.postgres.spares = SPARED_FOR_KEYS;
      this.keys = new KeysRun(this, random.fork('keys'), report);
    }
    new Lies(this.reference, report);
    reportDefects(this.world.calls, report);
  }

  start(): void {
    this.world.initialise();
    void this.keys?.begin();
    for (const server of this.servers) server.start();
    for (const machine of this.machines) machine.powerOn();
  }

  /** The state as the log makes it, without any delay. */
  get tables() {
    return this.reference.machine.tables;
  }

  get log(): readonly Applied[] {
    return this.reference.applied;
  }

  /** Nothing breaks any more: everything is switched on, connected and quick. */
  repair(): void {
    const { world } = this;
    world.wire.setNats(true);
    world.wire.calmDown();
    for (const link of world.links.values()) link.mend();
    world.postgres.isUp = true;
    world.postgres.mend();
    world.stream.forgetsIds = false;
    world.tasksFail = false;
    for (const server of this.servers) server.start();
    for (const machine of this.machines) {
      machine.powerOn();
      machine.startAgent();
    }
    this.keys?.repair();
  }
}
