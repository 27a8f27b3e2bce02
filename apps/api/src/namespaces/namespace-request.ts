import {
  formatErrors,
  namespaceProblems,
  type NamespaceCapabilities,
  type NamespaceSpecification,
  wire,
} from '@waybill/model';
import { badRequest } from '../http/api-error.js';
import { readJsonBody } from '../http/body.js';

const CAPABILITIES: wire.Shape<NamespaceCapabilities> = {
  name: 'NamespaceCapabilities',
  fields: {
    EnabledTaskDrivers: wire.list(wire.string()),
    DisabledTaskDrivers: wire.list(wire.string()),
    EnabledNetworkModes: wire.list(wire.string()),
    DisabledNetworkModes: wire.list(wire.string()),
  },
};

type Enterprise = 'NodePoolConfiguration' | 'VaultConfiguration' | 'ConsulConfiguration';
type Given = Omit<NamespaceSpecification, Enterprise> & Record<Enterprise, unknown>;

const NAMESPACE: wire.Shape<Given> = {
  name: 'Namespace',
  fields: {
    Name: wire.string(),
    Description: wire.string(),
    Quota: wire.string(),
    Capabilities: wire.object(CAPABILITIES),
    NodePoolConfiguration: wire.raw(),
    VaultConfiguration: wire.raw(),
    ConsulConfiguration: wire.raw(),
    Meta: wire.map(wire.string()),
    RequiredExtraClaims: wire.map(wire.string()),
    OptionalExtraClaims: wire.map(wire.string()),
  },
};

/** The features that this edition does not offer, with the text of their refusal (OP-179). */
const REFUSED: readonly (readonly [Enterprise, string])[] = [
  ['NodePoolConfiguration', 'invalid node pool configuration: Node Pools Governance is unlicensed.'],
  ['VaultConfiguration', 'invalid vault configuration: Multi-Cluster Vault is unlicensed.'],
  ['ConsulConfiguration', 'invalid consul configuration: Multi-Cluster Consul is unlicensed.'],
];

/**
 * Reads the namespace in a body (OP-178, OP-179).
 * @param name the name in the path; undefined if it has none
 * @throws Refusal invalid, DecodeError
 */
export function readNamespace(body: unknown, name: string | undefined): NamespaceSpecification {
  const given = wire.decodeShape(NAMESPACE, readJsonBody(body));
  if (name !== undefined && given.Name !== name) throw badRequest('Namespace name does not match request path');
  const refused = REFUSED.filter(([member]) => (given[member] ?? null) !== null).map(([, text]) => text);
  const problems = [...namespaceProblems(given), ...refused];
  if (problems.length > 0) throw badRequest(`Invalid namespace "${given.Name}": ${formatErrors(problems)}`);
  return { ...given, NodePoolConfiguration: null, VaultConfiguration: null, ConsulConfiguration: null };
}
