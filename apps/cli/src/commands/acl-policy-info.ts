import type { AclPolicy } from '@waybill/model';
import type { ServerCommand } from '../command-spec.js';
import { associatedWorkload, policyList, rulesText } from '../access/policy-text.js';
import { failed } from '../failure.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

/** Shows a policy, its workload and its rules (CL-843, AU-302). */
export const command: ServerCommand = {
  usage: '<name>',
  description: 'Shows a policy and its rules.',
  flags: [...DATA_FLAGS],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <name>' },
  async run({ api, args: [name = ''], data, terminal }) {
    const { value, exact } = await api
      .get<AclPolicy>(`/v1/acl/policy/${encodeURIComponent(name)}`)
      .catch((error: unknown) => {
        throw failed('fetching info on ACL policy', error);
      });
    if (data) {
      data(exact);
      return 0;
    }
    terminal.print(policyList(value));
    const workload = associatedWorkload(value);
    if (workload !== undefined) {
      terminal.section('Associated Workload');
      terminal.print(workload);
    }
    terminal.section('Rules');
    terminal.print(`\n${rulesText(value.Rules)}`);
    return 0;
  },
};
