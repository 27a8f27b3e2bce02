import { Acl } from '@waybill/acl';
import { type AclToken, FakeTime, Refusal } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { anonymous, type Caller } from '../access/caller.js';
import { CallerWatches } from '../access/caller-watch.js';
import type { CallerSource } from '../access/callers.js';
import { parseTopics } from './event-filter.js';
import { StreamPermits } from './stream-permit.js';

const withRules = (rules: string, token?: Partial<AclToken>): Caller => ({
  ...anonymous(Acl.compile([{ name: 'p', modifyIndex: 1, rules }])),
  token: token as AclToken | undefined,
});

/** A cluster whose caller can be exchanged, as when a token, a policy or a role changes. */
class Cluster {
  readonly time = new FakeTime();
  existing = ['default', 'team'];
  private readonly listeners = new Set<() => void>();

  constructor(public caller: Caller | Error) {}

  private readonly callers: CallerSource = {
    of: async () => {
      if (this.caller instanceof Error) throw this.caller;
      return this.caller;
    },
    onChangeOf: (_, listener) => {
      this.listeners.add(listener);
      return () => this.listeners.delete(listener);
    },
  };

  readonly permits = new StreamPermits({
    watches: new CallerWatches({ callers: this.callers, clock: this.time, timers: this.time }),
    namespaces: async () => this.existing,
  });

  open(topic: string, namespace = 'default') {
    return this.permits.open({ credential: 'secret', topics: parseTopics([topic]), namespace });
  }

  /** A subscription to what the caller may see in all namespaces. */
  openVisible(...topics: readonly string[]) {
    return this.permits.open({
      credential: 'secret',
      topics: parseTopics(topics),
      namespace: '*',
      isVisibleOnly: true,
    });
  }

  change(caller: Caller | Error): void {
    this.caller = caller;
    for (const listener of this.listeners) listener();
  }

  get listening(): number {
    return this.listeners.size;
  }
}

const READ = 'namespace "default" { policy = "read" }';
const DENIED = new Refusal('forbidden', 'Permission denied');

describe('the right of an event stream', () => {
  it('EV-40 EV-41: each topic needs its capability in the namespace; one that is missing refuses all', async () => {
    const cluster = new Cluster(withRules(READ));
    await expect(cluster.open('Job')).resolves.toBeDefined();
    for (const topic of ['Node', 'ACLToken', '*', 'Nonsense', 'NodePool'])
      await expect(cluster.open(topic)).rejects.toThrow('Permission denied');
    await expect(cluster.open('Job', 'team')).rejects.toThrow('Permission denied');
  });

  it('EV-42: all namespaces need the capability in each that exists', async () => {
    const cluster = new Cluster(withRules(READ));
    await expect(cluster.open('Job', '*')).rejects.toThrow('Permission denied');
    cluster.caller = withRules('namespace "*" { policy = "read" }');
    await expect(cluster.open('Job', '*')).resolves.toBeDefined();
    expect(cluster.listening).toBe(1);
  });

  it('EV-44: an event of a namespace that came later is seen if the capability is there', async () => {
    const cluster = new Cluster(withRules('namespace "*" { policy = "read" }\nnamespace "secret" { policy = "deny" }'));
    const { filter } = await cluster.open('Job', '*');
    const sees = (namespace: string) => filter?.({ topic: 'Job', namespace, keys: [] });
    expect([sees('new'), sees('secret')]).toEqual([true, false]);
  });

  it('EV-49: a subscription to what may be seen has the events of each namespace and topic with the right', async () => {
    const cluster = new Cluster(withRules(READ));
    const permit = await cluster.openVisible('Job', 'Node', 'CSIPlugin', 'Variable');
    const sees = (topic: string, namespace: string) => permit.filter?.({ topic, namespace, keys: ['k'] });
    expect([sees('Job', 'default'), sees('Job', 'team'), sees('Job', 'made-later')]).toEqual([true, false, false]);
    expect([sees('Node', ''), sees('CSIPlugin', ''), sees('Variable', 'default')]).toEqual([false, false, false]);
    cluster.change(withRules(`${READ}\nnode { policy = "read" }`));
    expect(await permit.settled()).toBe(true);
    expect([sees('Job', 'default'), sees('Node', ''), sees('CSIPlugin', '')]).toEqual([true, true, false]);
    cluster.change(withRules('namespace "*" { policy = "read" }'));
    expect(await permit.settled()).toBe(true);
    expect([sees('Job', 'team'), sees('Node', ''), sees('CSIPlugin', '')]).toEqual([true, false, true]);
    const management = new Cluster({ ...anonymous(Acl.management), token: undefined });
    const all = await management.openVisible('Node', 'ACLToken');
    expect(all.filter?.({ topic: 'ACLToken', namespace: '', keys: [] })).toBe(true);
  });

  it('EV-49: it is refused, and ends, when nothing of it may be seen', async () => {
    const cluster = new Cluster(withRules(READ));
    await expect(cluster.openVisible('Node', 'ACLToken')).rejects.toThrow('Permission denied');
    await expect(cluster.openVisible('*')).rejects.toThrow('Permission denied');
    const permit = await cluster.openVisible('Job', 'Node');
    cluster.change(withRules('operator { policy = "read" }'));
    expect(await permit.settled()).toBe(false);
    expect(permit.ended.aborted).toBe(true);
  });

  it('EV-46: a change that leaves the right lets the stream go on, one that takes it ends the stream', async () => {
    const cluster = new Cluster(withRules(READ));
    const permit = await cluster.open('Job');
    cluster.change(withRules('namespace "*" { policy = "read" }'));
    expect(await permit.settled()).toBe(true);
    cluster.change(withRules('node { policy = "read" }'));
    expect(await permit.settled()).toBe(false);
    expect(permit.ended.aborted).toBe(true);
    expect(cluster.listening).toBe(0);
  });

  it('EV-47 EV-80: nothing is sent between the change and the end of the look', async () => {
    const cluster = new Cluster(withRules(READ));
    const permit = await cluster.open('Job');
    cluster.change(DENIED);
    cluster.change(DENIED);
    expect(await permit.settled()).toBe(false);
  });

  it('EV-81: the stream ends at the instant of the expiry, without an event', async () => {
    const cluster = new Cluster(DENIED);
    const ExpirationTime = new Date(cluster.time.nowMs() + 5_000).toISOString();
    cluster.caller = withRules(READ, { ExpirationTime });
    const permit = await cluster.open('Job');
    await cluster.time.pass(4_999);
    expect(permit.ended.aborted).toBe(false);
    await cluster.time.pass(1);
    expect(permit.ended.aborted).toBe(true);
  });

  it('a stream that was closed leaves neither listener nor timer', async () => {
    const cluster = new Cluster(DENIED);
    cluster.caller = withRules(READ, { ExpirationTime: new Date(cluster.time.nowMs() + 5_000).toISOString() });
    const permit = await cluster.open('Job');
    permit.close();
    expect([cluster.listening, cluster.time.pending]).toEqual([0, 0]);
  });
});
