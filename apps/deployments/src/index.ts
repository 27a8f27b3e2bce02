export { deployments } from './deployments.service.js';
