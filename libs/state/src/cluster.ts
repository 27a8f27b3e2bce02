import type { Appliers } from './state-machine.js';

export const clusterAppliers: Appliers<
  'SchedulerConfig' | 'ClusterMetadata' | 'LeaseAcquired' | 'Initialise' | 'Ignore'
> = {
  SchedulerConfig() {
    throw new Error('SchedulerConfig has no applier yet');
  },
  ClusterMetadata() {
    throw new Error('ClusterMetadata has no applier yet');
  },
  LeaseAcquired() {
    throw new Error('LeaseAcquired has no applier yet');
  },
  Initialise() {
    throw new Error('Initialise has no applier yet');
  },
  Ignore() {
    throw new Error('Ignore has no applier yet');
  },
};
