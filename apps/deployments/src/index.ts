export { deployments } from './deployments.module.js';
