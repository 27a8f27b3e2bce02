export { UnpublishWorkflow } from './releases/unpublish-workflow.js';
export { VolumeWatcher } from './releases/volume-watcher.js';
export { volumes } from './volumes.module.js';
export { VolumesHolder } from './volumes-holder.js';
export { QUIESCENT_MS } from './releases/volume-worker.js';
