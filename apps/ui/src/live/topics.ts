/** The topics of the event stream that pages show. */
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

/** The part of a stream's address that asks for the events of all topics that the token may see, in all namespaces (EV-49). */
export const VISIBLE_TOPICS = `namespace=*&visible=true&${TOPICS.map((topic) => `topic=${topic}`).join('&')}`;
