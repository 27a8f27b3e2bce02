import { isDeepStrictEqual } from 'node:util';
import {
  type Allocation,
  type CSIInfo,
  type CSIPlugin,
  isClientTerminal,
  isEmptyPlugin,
  isServerTerminal,
  isTerminalAllocation,
  type Job,
  type Node,
} from '@waybill/model';
import {
  expectedIn,
  expectedInstances,
  isNobodys,
  pluginsOfAllocation,
  pluginsOfGroups,
  withJob,
} from './plugin-jobs.js';
import { compareText } from '../machine/row-order.js';
import type { Tables } from '../machine/tables.js';
import type { Change, Write } from '../machine/write.js';

/** The two sides of a plugin, and the node's members that report them. */
const SIDES = [
  { instances: 'Controllers', reported: 'CSIControllerPlugins' },
  { instances: 'Nodes', reported: 'CSINodePlugins' },
] as const;
type Side = (typeof SIDES)[number];

/**
 * Updates plugin records after a transaction wrote nodes, jobs, summaries or allocations (3.19). One place serves all
 * types, because a plugin follows from these rows, whichever transaction wrote them. Runs after the applier, in the
 * same transaction. Cost: a check of each written row; for rows that concern plugins, O(the plugin's instances), as its
 * record is one row.
 */
export function settlePlugins(w: Write): void {
  const rows = w.rowsWritten.filter((row) => concernsPlugins(w.tables, row));
  if (rows.length === 0) return;
  const edits = new PluginEdits(w);
  const jobs = new WrittenJobs();
  for (const { table, key, before, after } of rows) {
    switch (table) {
      case 'jobs':
        jobs.add(key, before, true);
        jobs.add(key, after, true);
        break;
      case 'job_summary':
        jobs.add(key, w.tables.jobs.get(key), false);
        break;
      case 'nodes':
        settleNode(edits, w.tables, before, after);
        break;
      case 'allocs':
        if (before) dropInstance(edits, before);
        break;
      default:
        break;
    }
  }
  for (const job of jobs.all()) settleJob(edits, w.tables, job);
  edits.put();
}

/** Whether a write concerns plugins. Hardly any does, so this is checked first. */
function concernsPlugins(tables: Tables, { table, key, before, after }: Change): boolean {
  switch (table) {
    case 'jobs':
      return implementsPlugin(before) || implementsPlugin(after);
    case 'job_summary': {
      const job = tables.jobs.get(key);
      return job?.Type === 'system' && implementsPlugin(job);
    }
    case 'nodes':
      return (
        before?.CSINodePlugins !== after?.CSINodePlugins || before?.CSIControllerPlugins !== after?.CSIControllerPlugins
      );
    case 'allocs':
      return tables.csi_plugins.size > 0 && before !== undefined && hasEnded(before, after);
    default:
      return false;
  }
}

const implementsPlugin = (job: Job | undefined): boolean =>
  job?.TaskGroups.some(({ Tasks }) => Tasks.some(({ CSIPluginConfig }) => CSIPluginConfig)) ?? false;

/** A job whose row or summary was written, and its plugins before and after. */
interface WrittenJob {
  readonly key: string;
  readonly row: Job;
  readonly plugins: Set<string>;
  /** Whether the job's row was written, and not only its summary. */
  isDeclared: boolean;
}

class WrittenJobs {
  private readonly jobs = new Map<string, WrittenJob>();

  add(key: string, row: Job | undefined, isDeclared: boolean): void {
    if (!row) return;
    const plugins = pluginsOfGroups(row.TaskGroups);
    if (plugins.length === 0) return;
    const job = this.jobs.get(key) ?? { key, row, plugins: new Set(), isDeclared };
    job.isDeclared ||= isDeclared;
    for (const plugin of plugins) job.plugins.add(plugin);
    this.jobs.set(key, job);
  }

  all(): Iterable<WrittenJob> {
    return this.jobs.values();
  }
}

/** Updates plugin records after a change of a job (VL-182 to VL-184). */
function settleJob(edits: PluginEdits, tables: Tables, { key, row, plugins, isDeclared }: WrittenJob): void {
  const expected = expectedInstances(tables, tables.jobs.get(key));
  for (const id of plugins) {
    const sides = expected.get(id);
    const begins = sides && (isDeclared || (sides.controllers ?? 0) + (sides.nodes ?? 0) > 0);
    const plugin = begins ? edits.ensure(id) : edits.get(id);
    if (plugin) edits.set(withJob(plugin, row, sides));
  }
}

/** Whether the allocation was told to stop, ended by its agent's report (ND-117), or was deleted. */
const hasEnded = (before: Allocation, after: Allocation | undefined): boolean =>
  !after ||
  (isServerTerminal(after) && !isServerTerminal(before)) ||
  (isClientTerminal(after) && !isClientTerminal(before));

/** Removes the entries of this allocation; those of another allocation on the node stay (VL-188, VL-190, ND-117). */
function dropInstance(edits: PluginEdits, alloc: Allocation): void {
  for (const id of pluginsOfAllocation(alloc))
    for (const side of SIDES)
      if (edits.get(id)?.[side.instances][alloc.NodeID]?.AllocID === alloc.ID) edits.drop(id, side, alloc.NodeID);
}

/** Updates plugin records after a change of a fingerprint (VL-185 to VL-188). */
function settleNode(edits: PluginEdits, tables: Tables, before: Node | undefined, after: Node | undefined): void {
  for (const side of SIDES) {
    const [had, has] = [before?.[side.reported] ?? {}, after?.[side.reported] ?? {}];
    if (had === has) continue;
    const nodeId = after?.ID ?? before?.ID ?? '';
    for (const id of Object.keys(had)) if (!Object.hasOwn(has, id)) edits.drop(id, side, nodeId);
    for (const [id, info] of Object.entries(has)) settleReport(edits, tables, { side, nodeId, id, info });
  }
}

/** What a node reports about one side of a plugin. */
interface PluginReport {
  readonly side: Side;
  readonly nodeId: string;
  /** The plugin's ID. */
  readonly id: string;
  readonly info: CSIInfo;
}

function settleReport(edits: PluginEdits, tables: Tables, { side, nodeId, id, info }: PluginReport): void {
  const plugin = edits.get(id);
  const entry = plugin?.[side.instances][nodeId];
  if (!info.Healthy) {
    if (!plugin || !entry) return;
    if (info.AllocID !== '' && isOver(tables, info.AllocID)) {
      if (entry.AllocID === info.AllocID) edits.drop(id, side, nodeId);
      return;
    }
  }
  const known = plugin ?? edits.ensure(id);
  edits.set({
    ...known,
    Provider: info.Provider || known.Provider,
    Version: info.ProviderVersion || known.Version,
    ControllerRequired: side.instances === 'Controllers' ? info.RequiresControllerPlugin : known.ControllerRequired,
    [side.instances]: { ...known[side.instances], [nodeId]: info },
  });
}

/** Whether the allocation is unknown, was told to stop, or has ended (VL-188). */
function isOver(tables: Tables, allocId: string): boolean {
  const alloc = tables.allocs.get(allocId);
  return !alloc || isTerminalAllocation(alloc);
}

/** Plugin records that one transaction changes; each is written once, at the end. */
class PluginEdits {
  private readonly edited = new Map<string, CSIPlugin>();

  constructor(private readonly w: Write) {}

  get(id: string): CSIPlugin | undefined {
    return this.edited.get(id) ?? this.w.tables.csi_plugins.get(id);
  }

  ensure(id: string): CSIPlugin {
    return this.get(id) ?? newPlugin(id);
  }

  set(plugin: CSIPlugin): void {
    this.edited.set(plugin.ID, plugin);
  }

  drop(id: string, side: Side, nodeId: string): void {
    const plugin = this.get(id);
    if (!plugin || !Object.hasOwn(plugin[side.instances], nodeId)) return;
    const { [nodeId]: _, ...rest } = plugin[side.instances];
    this.set({ ...plugin, [side.instances]: rest });
  }

  /** Writes the records in the order of their names, which is the same in every copy. */
  put(): void {
    for (const edited of [...this.edited.values()].toSorted((a, b) => compareText(a.ID, b.ID))) this.putOne(edited);
  }

  private putOne(edited: CSIPlugin): void {
    const stored = this.w.tables.csi_plugins.get(edited.ID);
    const next = counted(edited);
    if (stored && isDeepStrictEqual(stored, next)) return;
    if (isLeftEmpty(stored, next)) {
      this.w.remove('csi_plugins', next.ID);
      return;
    }
    this.w.put('csi_plugins', {
      ...next,
      CreateIndex: stored?.CreateIndex ?? this.w.index,
      CreateTime: stored?.CreateTime ?? this.w.timeNs,
      ModifyIndex: this.w.index,
      ModifyTime: this.w.timeNs,
    });
  }
}

/**
 * Whether the plugin has no instance and no job left (VL-187, VL-190). A plugin whose system job was not placed yet has
 * not begun, and stays (VL-182).
 */
function isLeftEmpty(stored: CSIPlugin | undefined, next: CSIPlugin): boolean {
  if (!isEmptyPlugin(next)) return false;
  const isDeclared = !isNobodys(next.ControllerJobs) || !isNobodys(next.NodeJobs);
  return !isDeclared || (stored !== undefined && !isEmptyPlugin(stored));
}

function counted(plugin: CSIPlugin): CSIPlugin {
  const healthy = (instances: Record<string, CSIInfo>) => Object.values(instances).filter((i) => i.Healthy).length;
  return {
    ...plugin,
    ControllersHealthy: healthy(plugin.Controllers),
    ControllersExpected: expectedIn(plugin.ControllerJobs),
    NodesHealthy: healthy(plugin.Nodes),
    NodesExpected: expectedIn(plugin.NodeJobs),
  };
}

function newPlugin(ID: string): CSIPlugin {
  return {
    ID,
    Provider: '',
    Version: '',
    ControllerRequired: false,
    Controllers: {},
    Nodes: {},
    ControllerJobs: {},
    NodeJobs: {},
    ControllersHealthy: 0,
    ControllersExpected: 0,
    NodesHealthy: 0,
    NodesExpected: 0,
    CreateIndex: 0,
    ModifyIndex: 0,
    CreateTime: 0,
    ModifyTime: 0,
  };
}
