import { queryOptions, useQuery } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';
import { callApi } from '../../api/client.js';
import type { Allocation, Node } from '../../api/contract.js';
import type { Change } from '../../live/change.js';
import { useChanges } from '../../live/live-updates.js';
import {
  type Machine,
  machinesOf,
  placedAllocation,
  type PlacedAllocation,
  topologyNode,
  type TopologyNode,
} from './topology.js';

/** The number of changed objects after which everything is read again, so that a page left open does not grow. */
const MOST_CHANGED = 20_000;

interface Versioned<T> {
  /** The index at which the object was changed. */
  readonly index: number;
  /** The object; undefined if it is gone or takes no room. */
  readonly object: T | undefined;
}
type Known<T> = ReadonlyMap<string, Versioned<T>>;

/** Reads all machines with their resources. Changes are taken from events, because the whole list may be large. */
const topologyNodesQuery = () =>
  queryOptions({
    queryKey: ['topology-nodes'],
    queryFn: async ({ signal }): Promise<Known<TopologyNode>> => {
      const nodes = await callApi('GET /v1/nodes', { query: { resources: true }, signal });
      return new Map(nodes.map((node) => [node.ID, { index: node.ModifyIndex, object: topologyNode(node) }]));
    },
  });

const topologyAllocationsQuery = () =>
  queryOptions({
    queryKey: ['topology-allocations'],
    queryFn: async ({ signal }): Promise<Known<PlacedAllocation>> => {
      const query = { namespace: '*', resources: true, task_states: false, filter: RUNNING };
      const allocations = await callApi('GET /v1/allocations', { query, signal });
      return new Map(
        allocations.map((alloc) => [alloc.ID, { index: alloc.ModifyIndex, object: placedAllocation(alloc) }]),
      );
    },
  });

const RUNNING = 'ClientStatus == "running" or ClientStatus == "pending" or ClientStatus == "unknown"';

interface Changed {
  readonly nodes: Known<TopologyNode>;
  readonly allocations: Known<PlacedAllocation>;
}
const NOTHING: Changed = { nodes: new Map(), allocations: new Map() };

/** Returns what events say about machines and allocations, on top of what they said before. The function is pure. */
export function withChanges(before: Changed, changes: readonly Change[]): Changed {
  const nodes = new Map(before.nodes);
  const allocations = new Map(before.allocations);
  for (const { topic, type, key, index, payload } of changes) {
    if (topic === 'Node') {
      const node = payload['Node'] as Node | undefined;
      const isGone = type === 'NodeDeregistration' || node === undefined;
      nodes.set(key, { index, object: isGone ? undefined : topologyNode(node) });
    }
    if (topic === 'Allocation') {
      const alloc = payload['Allocation'] as Allocation | undefined;
      allocations.set(key, { index, object: alloc && placedAllocation(alloc) });
    }
  }
  return { nodes, allocations };
}

/** Returns the newest version of each object that still counts. */
export function newest<T>(read: Known<T>, changed: Known<T>): readonly T[] {
  const merged = new Map(read);
  for (const [key, one] of changed) if (one.index > (merged.get(key)?.index ?? -1)) merged.set(key, one);
  return [...merged.values()].flatMap(({ object }) => (object === undefined ? [] : [object]));
}

export interface FollowedTopology {
  /** The machines with their allocations; undefined until they were read. */
  readonly machines: readonly Machine[] | undefined;
  readonly error: unknown;
}

/** Reads the topology once, and keeps it as new as the events are. */
export function useTopology(): FollowedTopology {
  const nodes = useQuery(topologyNodesQuery());
  const allocations = useQuery(topologyAllocationsQuery());
  const [changed, setChanged] = useState(NOTHING);
  const { refetch: readNodes } = nodes;
  const { refetch: readAllocations } = allocations;
  useChanges(
    useCallback(
      (changes: readonly Change[]) =>
        setChanged((before) => {
          const after = withChanges(before, changes);
          if (after.nodes.size + after.allocations.size <= MOST_CHANGED) return after;
          void readNodes();
          void readAllocations();
          return withChanges(NOTHING, changes);
        }),
      [readNodes, readAllocations],
    ),
  );
  const machines = useMemo(
    () =>
      nodes.data &&
      allocations.data &&
      machinesOf(newest(nodes.data, changed.nodes), newest(allocations.data, changed.allocations)),
    [nodes.data, allocations.data, changed],
  );
  return { machines, error: nodes.error ?? allocations.error };
}
