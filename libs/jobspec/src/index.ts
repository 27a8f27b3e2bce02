export type { Json, JsonObject } from './decoding/json.js';
export type { FileAccess } from './functions/file-functions.js';
export { MAX_SOURCE_BYTES } from './limits.js';
export { type JobSource, type ParsedJob, parseJob, type TextFile } from './parse-job.js';
export { parseNamespace, parseNodePools } from './parse-place.js';
export { VolumeFile, type VolumeType } from './parse-volume.js';
export { JobspecError } from './syntax/diagnostic.js';
export { mergedVariableTexts } from './variable-texts.js';
export { takesText, type Variable } from './variables.js';
