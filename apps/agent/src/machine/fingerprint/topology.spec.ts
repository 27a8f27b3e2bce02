import { expect, it } from 'vitest';
import { numaAttributes, topologyOf } from './topology.js';

const TWO_SOCKETS = [0, 0, 1, 1].map((socket) => ({ socket, node: socket }));

it('AG-20: the cores of a machine, with where they are and how fast', () => {
  const speed = { mhz: [2_400, 2_400, 2_000, 2_000], source: 'cpufreq base_frequency' };
  const topology = topologyOf(speed, TWO_SOCKETS, [], 0);
  expect(topology).toMatchObject({
    Nodes: [0, 1],
    Distances: [
      [10, 20],
      [20, 10],
    ],
    OverrideTotalCompute: 0,
  });
  expect(topology.Cores[3]).toEqual({
    SocketID: 1,
    NodeID: 1,
    ID: 3,
    Grade: true,
    Disable: false,
    BaseSpeed: 2_000,
    MaxSpeed: 0,
    GuessSpeed: 0,
  });
  const guessed = topologyOf({ mhz: [2_445], source: 'cpuinfo cpu MHz' }, [{ socket: 0, node: 0 }], [[10]], 9_000);
  expect(guessed).toMatchObject({ Nodes: [0], Distances: [[10]], OverrideTotalCompute: 9_000 });
  expect(guessed.Cores[0]).toMatchObject({ BaseSpeed: 0, MaxSpeed: 0, GuessSpeed: 2_445 });
});

it('AG-20: NUMA nodes are attributes, with the cores of each', () => {
  expect(numaAttributes(TWO_SOCKETS)).toEqual({
    'numa.node.count': '2',
    'numa.node0.cores': '0-1',
    'numa.node1.cores': '2-3',
  });
  const crossed = [0, 1, 0, 0, 1].map((node) => ({ socket: 0, node }));
  expect(numaAttributes(crossed)).toMatchObject({ 'numa.node0.cores': '0,2-3', 'numa.node1.cores': '1,4' });
});
