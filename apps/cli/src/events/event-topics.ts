/** Topics of the event stream: the meaning of their keys, further values, and the required capability (EV-40). */
export const TOPICS: readonly (readonly [topic: string, keys: string, needs: string])[] = [
  ['ACLAuthMethod', 'name', 'management'],
  ['ACLBindingRule', 'ID, auth method', 'management'],
  ['ACLPolicy', 'name', 'management'],
  ['ACLRole', 'ID, name', 'management'],
  ['ACLToken', 'accessor ID', 'management'],
  ['Allocation', 'ID, job ID, deployment ID', 'read-job'],
  ['CSIPlugin', 'ID', 'read-job'],
  ['CSIVolume', 'ID, name, plugin ID', 'csi-read-volume'],
  ['Deployment', 'ID, job ID', 'read-job'],
  ['Evaluation', 'ID, job ID, deployment ID', 'read-job'],
  ['HostVolume', 'ID, name, plugin ID', 'host-volume-read'],
  ['Job', 'ID', 'read-job'],
  ['Node', 'ID', 'node:read'],
  ['NodePool', 'name', 'management'],
  ['Service', 'ID, job ID, service name', 'read-job'],
  ['Variable', 'path', 'any rule on variables'],
];
