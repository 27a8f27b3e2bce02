import type { Allocation, ServiceRegistration } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';

const { aClientUpdate, aMachine, anAlloc, aNode, aPlanResult, aRegisteredJob, aServiceRegistration, apply, uuid } =
  fixtures;

const NODE = uuid(7);

/** A machine with two allocations on one node. */
function placed() {
  const machine = aMachine();
  apply(machine, 'NodeRegister', { Node: aNode({ ID: NODE }), CreateNodePool: false });
  const { job, evaluation } = aRegisteredJob(machine);
  const [web, db] = [1, 2].map((n) => anAlloc({ ID: uuid(n), NodeID: NODE, Job: job })) as [Allocation, Allocation];
  apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated: [web, db], EvalID: evaluation.ID }));
  const service = (AllocID: string, over: Partial<ServiceRegistration> = {}) =>
    aServiceRegistration({ ID: `_nomad-task-${AllocID}-web-web-http`, AllocID, NodeID: NODE, ...over });
  const upsert = (...Services: ServiceRegistration[]) => apply(machine, 'ServiceRegistrationUpsert', { Services });
  const stored = () => [...machine.tables.service_registrations.all()];
  return { machine, web: web.ID, db: db.ID, service, upsert, stored };
}

describe('service registrations', () => {
  it('type 47: an equal entry changes nothing, a changed one keeps where it began', () => {
    const { web, db, service, upsert, stored } = placed();
    const first = upsert(service(web, { Port: 80 }));
    expect(upsert(service(web, { Port: 80 })).verdict.kind).toBe('noop');
    const second = upsert(service(web, { Port: 80 }), service(db));
    expect(second.changes).toHaveLength(1);
    const third = upsert(service(web, { Port: 80, Tags: ['green'] }));
    expect(stored().find(({ AllocID }) => AllocID === web)).toMatchObject({
      Tags: ['green'],
      CreateIndex: first.index,
      ModifyIndex: third.index,
    });
  });

  it.each<[keyof ServiceRegistration, string | number | string[]]>([
    ['ServiceName', 'api'],
    ['NodeID', uuid(8)],
    ['Datacenter', 'dc2'],
    ['JobID', 'api'],
    ['Address', '10.0.0.1'],
    ['Port', 81],
    ['Tags', ['green']],
  ])('type 47: an entry is written again when its %s is another', (member, value) => {
    const { web, service, upsert, stored } = placed();
    upsert(service(web));
    expect(upsert(service(web, { [member]: value })).verdict.kind).toBe('accepted');
    expect(stored()[0]![member]).toEqual(value);
  });

  it('type 47: an entry that moves to another allocation is written again, and ends with that one', () => {
    const { machine, web, db, service, upsert, stored } = placed();
    upsert(service(web));
    upsert({ ...service(web), AllocID: db });
    const end = (ID: string) => {
      const Allocs = [aClientUpdate({ ID, NodeID: NODE }, { ClientStatus: 'complete' })];
      apply(machine, 'AllocClientUpdate', { Allocs, Evals: [] });
    };
    end(web);
    expect(stored()).toMatchObject([{ AllocID: db }]);
    end(db);
    expect(stored()).toEqual([]);
  });

  it('API-405, EV-10: events say what was registered, and what was removed as it was', () => {
    const { machine, web, service, upsert } = placed();
    const registered = upsert(service(web));
    expect(eventsOf(registered)?.Events).toMatchObject([
      {
        Topic: 'Service',
        Type: 'ServiceRegistration',
        FilterKeys: ['web', 'web'],
        Payload: { Service: { Port: 8080 } },
      },
    ]);
    const { ID, Namespace } = service(web);
    const removed = apply(machine, 'ServiceRegistrationDeleteByID', { ID, Namespace });
    expect(eventsOf(removed)?.Events).toMatchObject([
      { Topic: 'Service', Type: 'ServiceDeregistration', Key: ID, Payload: { Service: { AllocID: web } } },
    ]);
  });

  it('type 48: one that is not there is refused', () => {
    const { machine } = placed();
    const applied = apply(machine, 'ServiceRegistrationDeleteByID', { ID: 'x', Namespace: 'default' });
    expect(applied.verdict).toEqual({ kind: 'refused', code: 'not-found', error: 'service registration not found' });
  });

  it('type 49: all of a node, or nothing', () => {
    const { machine, web, db, service, upsert, stored } = placed();
    upsert(service(db), service(web));
    expect(apply(machine, 'ServiceRegistrationDeleteByNodeID', { NodeID: uuid(99) }).verdict.kind).toBe('noop');
    const gone = apply(machine, 'ServiceRegistrationDeleteByNodeID', { NodeID: NODE });
    // In the order of their IDs, which every copy of the state shares, and not in that of their arrival.
    expect(gone.changes.map(({ before }) => before)).toMatchObject([{ AllocID: web }, { AllocID: db }]);
    expect(stored()).toEqual([]);
  });

  it('ST-107: they go when their allocation ends, and one that arrives late does not stay', () => {
    const { machine, web, db, service, upsert, stored } = placed();
    upsert(service(web), service(db));
    const Allocs = [aClientUpdate({ ID: web, NodeID: NODE }, { ClientStatus: 'complete' })];
    const ended = apply(machine, 'AllocClientUpdate', { Allocs, Evals: [] });
    expect(eventsOf(ended)?.Events.filter(({ Topic }) => Topic === 'Service')).toMatchObject([
      { Type: 'AllocationUpdated' },
    ]);
    expect(upsert(service(web)).verdict.kind).toBe('noop');
    expect(upsert(service(uuid(50))).verdict.kind).toBe('noop');
    expect(stored().map(({ AllocID }) => AllocID)).toEqual([db]);
  });

  it('ND-221: a node that is down keeps the services of work that may come back', () => {
    const { machine, web, service, upsert, stored } = placed();
    upsert(service(web));
    const Allocs = [aClientUpdate({ ID: web, NodeID: NODE }, { ClientStatus: 'unknown' })];
    apply(machine, 'AllocClientUpdate', { Allocs, Evals: [] });
    expect(stored()).toHaveLength(1);
  });
});
