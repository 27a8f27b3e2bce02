import { describe, expect, it } from 'vitest';
import { allocationsToRestart, BATCH_SIZE_PATTERN, batchesOf } from './batches.js';
import { restartInBatches, type RestartProgress, type RestartRun, type RestartServer } from './restart-run.js';

const alloc = (ID: string, more: object = {}) =>
  ({ ID, TaskGroup: 'web', DesiredStatus: 'run', ClientStatus: 'running', CreateIndex: 1, ...more }) as const;

it('a restart concerns what runs, the newest first, of one group or of all', () => {
  const all = [
    alloc('old'),
    alloc('new', { CreateIndex: 9 }),
    alloc('side', { TaskGroup: 'side', CreateIndex: 5 }),
    alloc('ended', { ClientStatus: 'complete' }),
    alloc('leaving', { DesiredStatus: 'stop' }),
  ];
  expect(allocationsToRestart(all, '').map(({ ID }) => ID)).toEqual(['new', 'side', 'old']);
  expect(allocationsToRestart(all, 'side').map(({ ID }) => ID)).toEqual(['side']);
});

it('JR-401, JR-402: batches have a number of allocations, or a percentage that is rounded up', () => {
  const sizes = (size: string) => batchesOf(Array.from({ length: 10 }), size).map((batch) => batch.length);
  expect([sizes('4'), sizes('25%'), sizes('100%'), sizes('200%')]).toEqual([[4, 4, 2], [3, 3, 3, 1], [10], [10]]);
  expect(batchesOf([], '10%')).toEqual([]);
  const isSize = (text: string) => new RegExp(`^(?:${BATCH_SIZE_PATTERN})$`, 'v').test(text);
  expect(['1', '25%', '99999', '0', '', '5 %', '-1', '100000'].map(isSize)).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
});

describe('a run', () => {
  const idle: RestartServer = {
    activeDeployment: () => Promise.resolve(undefined),
    restart: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    allocation: () => Promise.reject(new Error('nobody asks')),
    replacementFailure: () => Promise.resolve(undefined),
  };
  const batches = [[alloc('a'), alloc('b')], [alloc('c')]];

  async function runWith(server: Partial<RestartServer>, more: Partial<RestartRun> = {}) {
    const [calls, pauses, seen]: [string[], number[], RestartProgress[]] = [[], [], []];
    const recorded = (name: 'restart' | 'stop') => (id: string) => {
      calls.push(`${name} ${id}`);
      return (server[name] ?? idle[name])(id);
    };
    const end = await restartInBatches({
      batches,
      waitMs: 5_000,
      isReplacing: false,
      goesOnAfterFailures: false,
      signal: new AbortController().signal,
      pause: (ms) => {
        pauses.push(ms);
        return Promise.resolve();
      },
      onProgress: (progress) => seen.push(progress),
      ...more,
      server: { ...idle, ...server, restart: recorded('restart'), stop: recorded('stop') },
    });
    return { end, calls, pauses, seen };
  }

  it('restarts a batch at once, and pauses between two', async () => {
    const { end, calls, pauses, seen } = await runWith({});
    expect(end).toEqual({ total: 3, done: 3, batch: 2, batches: 2, failures: [] });
    expect([calls, pauses]).toEqual([['restart a', 'restart b', 'restart c'], [5_000]]);
    expect(seen.map(({ done, batch }) => [done, batch])).toEqual([
      [0, 1],
      [1, 1],
      [2, 1],
      [2, 2],
      [3, 2],
    ]);
  });

  it('ends after a batch with a failure, unless it shall go on', async () => {
    const restart = (id: string) => (id === 'a' ? Promise.reject(new Error('machine is away')) : Promise.resolve());
    const ended = await runWith({ restart });
    expect(ended.calls).toEqual(['restart a', 'restart b']);
    expect(ended.end).toMatchObject({ done: 1, failures: [{ allocation: 'a', text: 'machine is away' }] });
    const goneOn = await runWith({ restart }, { goesOnAfterFailures: true });
    expect(goneOn.end).toMatchObject({ done: 2, failures: [{ allocation: 'a' }] });
  });

  it('JR-404: restarts nothing while a rollout is under way', async () => {
    const { end, calls } = await runWith({ activeDeployment: () => Promise.resolve('0f9e8d7c') });
    expect(calls).toEqual([]);
    expect(end.failures).toEqual([{ allocation: '', text: 'The rollout 0f9e8d7c is under way.' }]);
  });

  it('begins no other batch once it is ended', async () => {
    const end = new AbortController();
    const pause = () => {
      end.abort();
      return Promise.resolve();
    };
    expect((await runWith({}, { pause, signal: end.signal })).calls).toEqual(['restart a', 'restart b']);
  });

  it('JR-703: replacing goes on once the last replacement runs', async () => {
    const states = [
      ['a', 0, { ClientStatus: 'running', ModifyIndex: 7 }],
      ['a', 7, { ClientStatus: 'running', NextAllocation: 'a2', ModifyIndex: 8 }],
      ['a2', 0, { ClientStatus: 'failed', NextAllocation: 'a3', ModifyIndex: 9 }],
      ['a3', 0, { ClientStatus: 'pending', ModifyIndex: 10 }],
      ['a3', 10, { ClientStatus: 'running', ModifyIndex: 11 }],
    ] as const;
    let at = 0;
    const allocation = (id: string, index: number) => {
      const [wantedId, wantedIndex, answer] = states[at++] ?? states[0];
      expect([id, index]).toEqual([wantedId, wantedIndex]);
      return Promise.resolve(answer);
    };
    const { end, calls } = await runWith({ allocation }, { isReplacing: true, batches: [[alloc('a')]] });
    expect([calls, at, end.done]).toEqual([['stop a'], 5, 1]);
  });

  it('a replacement that has ended without another one is a failure', async () => {
    const states = [
      { ClientStatus: 'complete', NextAllocation: 'a2', ModifyIndex: 3 },
      { ClientStatus: 'failed', ModifyIndex: 4 },
      { ClientStatus: 'failed', ModifyIndex: 4 },
    ];
    let at = 0;
    const allocation = () => Promise.resolve(states[at++] ?? { ClientStatus: 'running' });
    const { end } = await runWith({ allocation }, { isReplacing: true, batches: [[alloc('a')]] });
    expect([at, end.failures]).toEqual([3, [{ allocation: 'a', text: 'Its replacement is failed.' }]]);
  });

  it('JR-701: a replacement without a place is a failure that says why', async () => {
    const { end } = await runWith(
      {
        allocation: () => Promise.resolve({ ClientStatus: 'complete', ModifyIndex: 3 }),
        replacementFailure: (group) => Promise.resolve(`no machine has room for ${group}`),
      },
      { isReplacing: true, batches: [[alloc('a')]] },
    );
    const text = 'It was stopped, and is not replaced: no machine has room for web';
    expect([end.done, end.failures]).toEqual([0, [{ allocation: 'a', text }]]);
  });
});
