import type { AclRole } from '@waybill/model';
import type { Answer } from '../server/api-client.js';
import type { Call } from '../command-spec.js';
import { keyValues, table } from '../terminal/table.js';

const policyNames = ({ Policies }: AclRole): string => Policies.map(({ Name }) => Name).join(',');

/** Prints a role as text or as data (AU-301). */
export function printRole(
  { data, terminal }: Pick<Call, 'data' | 'terminal'>,
  { value, exact }: Answer<AclRole>,
): void {
  if (data) data(exact);
  else terminal.print(roleList(value));
}

/** Lists the members of a role (AU-301). */
export const roleList = (role: AclRole): string =>
  keyValues([
    ['ID', role.ID],
    ['Name', role.Name],
    ['Description', role.Description],
    ['Policies', policyNames(role)],
    ['Create Index', String(role.CreateIndex)],
    ['Modify Index', String(role.ModifyIndex)],
  ]);

/** Lists roles (CL-843). */
export const roleTable = (roles: readonly AclRole[]): string =>
  table([
    ['ID', 'Name', 'Description', 'Policies'],
    ...roles.map((role) => [role.ID, role.Name, role.Description, policyNames(role)]),
  ]);
