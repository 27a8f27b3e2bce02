import type { Node } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { expect, it } from 'vitest';
import { mayRewrite } from './classification.js';

it.each<[string, Partial<Node> | null | undefined, boolean, boolean, boolean]>([
  ['is well', undefined, true, true, true],
  ['was deleted', null, false, false, false],
  ['drains', { Status: 'ready' }, true, true, true],
  ['drains and is not ready', { Status: 'initializing' }, false, false, false],
  ['is disconnected', { Status: 'disconnected' }, false, true, true],
  ['is down', { Status: 'down' }, false, false, true],
])('SC-313: a node that %s: what runs, what is unknown, and what is unknown and not replaced', (_is, over, ...may) => {
  const alloc = fixtures.anAlloc({ ClientStatus: 'running' });
  const Disconnect = { LostAfter: 0, StopOnClientAfter: null, Replace: false, Reconcile: '' };
  const Job = fixtures.aJob({ TaskGroups: [fixtures.aGroup({ Disconnect })] });
  const node = over && fixtures.aNode({ ID: alloc.NodeID, ...over });
  const tainted = new Map(node === undefined ? [] : [[alloc.NodeID, node]]);
  const forms = [
    alloc,
    { ...alloc, ClientStatus: 'unknown' as const },
    { ...alloc, Job, ClientStatus: 'unknown' as const },
  ];
  expect(forms.map((form) => mayRewrite(form, tainted))).toEqual(may);
});
