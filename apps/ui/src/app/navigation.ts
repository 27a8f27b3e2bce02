/*
 * The pages of the navigation: address, title, and the letter that opens the page after G. Shortcuts are listed by `?`.
 */

export const WORK = [
  ['/jobs', 'Jobs', 'j'],
  ['/deployments', 'Deployments', 'd'],
  ['/evaluations', 'Evaluations', 'e'],
  ['/services', 'Services', 's'],
  ['/variables', 'Variables', 'v'],
  ['/storage', 'Storage', 'o'],
] as const;

export const CLUSTER = [
  ['/clients', 'Machines', 'm'],
  ['/topology', 'Topology', 't'],
  ['/events', 'Events', 'n'],
  ['/servers', 'Control plane', 'c'],
  ['/access-control', 'Access control', 'a'],
] as const;
