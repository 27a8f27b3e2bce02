/** For the environment of an agent: how full the disk of whoever runs the tests is, is nothing to them (AG-210). */
export const KEEPS_ENDED = { WAYBILL_GC_DISK_USAGE_THRESHOLD: '100', WAYBILL_GC_INODE_USAGE_THRESHOLD: '100' };
