/** The topics of the event stream that pages show, with the namespaces of all of them. */
export const TOPICS: readonly string[] = [
  'Job',
  'Evaluation',
  'Allocation',
  'Deployment',
  'Node',
  'Service',
  'Variable',
  'CSIVolume',
  'CSIPlugin',
  'HostVolume',
  'ACLToken',
  'ACLPolicy',
  'ACLRole',
  'ACLAuthMethod',
  'ACLBindingRule',
];

/** Returns the part of a stream's address that asks for topics. */
export const topicsQuery = (topics: readonly string[]): string => topics.map((topic) => `topic=${topic}`).join('&');
