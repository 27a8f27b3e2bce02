export { volumes } from './volumes.module.js';
export { VolumesHolder } from './volumes-holder.js';
export { QUIESCENT_MS } from './volume-worker.js';
