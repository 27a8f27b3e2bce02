import { NS_PER_SECOND } from '@waybill/model';
import { evaluateNode, purgeNode, updateNodeDrain, updateNodeEligibility } from '@waybill/rpc';
import type { Actions } from './action.js';
import { chosenNode } from './chosen.js';

const NO_DRAIN = { DrainSpec: null, MarkEligible: false, Meta: null, UpdatedBy: '' } as const;

export const NODE_ACTIONS: Actions = {
  drain: [
    6,
    (api, cluster, random) => {
      const node = chosenNode(cluster, random);
      const Deadline = random.between(5, 60) * NS_PER_SECOND;
      const DrainSpec = { Deadline: random.chance(0.1) ? -1 : Deadline, IgnoreSystemJobs: random.chance(0.5) };
      return node && api.command(updateNodeDrain, { ...NO_DRAIN, NodeID: node.ID, DrainSpec });
    },
  ],
  'cancel drain': [
    4,
    (api, cluster, random) => {
      const node = chosenNode(cluster, random);
      return node && api.command(updateNodeDrain, { ...NO_DRAIN, NodeID: node.ID, MarkEligible: random.chance(0.7) });
    },
  ],
  eligibility: [
    6,
    (api, cluster, random) => {
      const node = chosenNode(cluster, random);
      const Eligibility = random.chance(0.7) ? 'eligible' : 'ineligible';
      return node && api.command(updateNodeEligibility, { NodeID: node.ID, Eligibility });
    },
  ],
  'purge node': [
    2,
    (api, cluster, random) => {
      const node = chosenNode(cluster, random);
      return node && api.command(purgeNode, { NodeID: node.ID });
    },
  ],
  'evaluate node': [
    2,
    (api, cluster, random) => {
      const node = chosenNode(cluster, random);
      return node && api.command(evaluateNode, { NodeID: node.ID });
    },
  ],
};
