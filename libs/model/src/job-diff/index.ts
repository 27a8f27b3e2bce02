export { annotateDiff } from './annotate-diff.js';
export type { DiffType, FieldDiff, JobDiff, ObjectDiff, TaskDiff, TaskGroupDiff } from './difference.js';
export { diffJobs } from './job-diff.js';
export { diffMembers } from './object-diff.js';
