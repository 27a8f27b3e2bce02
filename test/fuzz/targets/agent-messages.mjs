// What machines send: their description, heartbeats' events, reports of allocations, services. The first line says which.
import {
  checkAllocUpdates,
  checkNode,
  checkNodeEvents,
  checkServices,
} from '../../../apps/nodes/dist/node/machine-shapes.js';
import { cutEvent, nodeNameProblem, withCutReport, withCutTexts } from '../../../apps/nodes/dist/node/machine-texts.js';
import { encodeNode, meetsConstraint, Refusal } from '../../../libs/model/dist/index.js';
import { draftTxn, fixtures, StateMachine } from '../../../libs/state/dist/index.js';
import { BrokenPromise, declaring, jsonOf, timed } from '../harness.mjs';

const actor = /** @type {const} */ ({ Kind: 'node', ID: 'n', Name: 'n' });
const context = { timeNs: 1_767_225_600_000 * 1e6, requestId: 'r1', actor };

/** What was let through is applied without a defect. @param {any} type @param {any} payload */
function applies(type, payload) {
  const { defect } = new StateMachine().apply(/** @type {any} */ ({ ...draftTxn(type, payload, context), index: 1 }));
  if (defect) throw new BrokenPromise(`${type} was let through and cannot be applied: ${defect.stack}`);
}

/** @type {Map<string, (sent: any) => void>} */
const MESSAGES = new Map(
  Object.entries({
    node: (sent) => {
      checkNode(sent);
      nodeNameProblem(sent);
      const node = withCutTexts(sent);
      encodeNode(node);
      meetsConstraint({ LTarget: '${attr.kernel.version}', RTarget: '>= 4', Operand: 'version' }, node);
      applies('NodeRegister', { Node: node, NodeEvent: null });
    },
    allocs: (sent) => {
      checkAllocUpdates(sent);
      applies('AllocClientUpdate', { Allocs: sent.map(withCutReport), Evals: [], Now: 1 });
    },
    events: (sent) => {
      checkNodeEvents(sent);
      applies('UpsertNodeEvents', { NodeEvents: { n: sent.map(cutEvent) } });
    },
    services: checkServices,
  }),
);

export const fuzz = timed((data) => {
  const end = data.indexOf(0x0a);
  const read = MESSAGES.get(data.subarray(0, Math.max(end, 0)).toString());
  const sent = jsonOf(data.subarray(end + 1));
  if (read && sent !== undefined) declaring([Refusal], () => read(sent));
});

export const seeds = () => [
  `node\n${JSON.stringify(fixtures.aNode())}`,
  `allocs\n${JSON.stringify([{ ...fixtures.anAlloc(), Job: undefined }])}`,
  'allocs\n[{"ID":"a","ClientStatus":"running","TaskStates":{"t":{"State":"running","Failed":false,"Restarts":0,"Events":[]}}}]',
  'events\n[{"Message":"m","Subsystem":"Driver","Details":{"a":"b"},"Timestamp":1,"CreateIndex":0}]',
  `services\n${JSON.stringify([fixtures.aServiceRegistration()])}`,
];
