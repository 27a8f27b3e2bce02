export { UnpublishWorkflow } from './unpublish-workflow.js';
export { VolumeWatcher } from './volume-watcher.js';
export { volumes } from './volumes.module.js';
export { VolumesHolder } from './volumes-holder.js';
export { QUIESCENT_MS } from './volume-worker.js';
