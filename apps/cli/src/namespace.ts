import type { Namespace } from '@waybill/model';
import type { Answer } from './server/api-client.js';
import type { Call } from './command-spec.js';
import { CommandFailure, failed } from './failure.js';
import { table } from './terminal/table.js';

/** Lists namespaces (CL-831). */
export const namespaceTable = (namespaces: readonly Namespace[]): string =>
  table([['Name', 'Description'], ...namespaces.map(({ Name, Description }) => [Name, Description])]);

/** Finds the namespace with this name, or the only one with this prefix (CL-157, CL-832). @throws CommandFailure */
export async function resolveNamespace({ api }: Pick<Call, 'api'>, given: string): Promise<Answer<Namespace>> {
  const retrieving = (error: unknown): never => {
    throw failed('retrieving namespaces', error);
  };
  const { value } = await api.get<Namespace[] | null>('/v1/namespaces', { prefix: given }).catch(retrieving);
  const namespaces = value ?? [];
  const found = namespaces.find(({ Name }) => Name === given) ?? namespaces[0];
  if (!found) throw new CommandFailure(`Namespace "${given}" matched no namespaces`);
  if (found.Name !== given && namespaces.length > 1)
    throw new CommandFailure(`Prefix matched multiple namespaces\n\n${namespaceTable(namespaces)}`);
  return api.get<Namespace>(`/v1/namespace/${encodeURIComponent(found.Name)}`).catch(retrieving);
}
