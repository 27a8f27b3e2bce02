/** What the environment of every agent says here; a test that needs it otherwise says so after it. */
export const AGENT_OF_TESTS = {
  // How full the disk of whoever runs the tests is, is nothing to them (AG-210).
  WAYBILL_GC_DISK_USAGE_THRESHOLD: '100',
  WAYBILL_GC_INODE_USAGE_THRESHOLD: '100',
  // An agent that is killed for good leaves nothing mounted, so that its directory can be removed (AG-220).
  WAYBILL_AGENT_SECRETS_IN_MEMORY: 'false',
  // To ask the plugins of this machine what they can costs each agent half a second.
  WAYBILL_CNI_PATH: '/nonexistent',
};
