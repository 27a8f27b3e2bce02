export { volumes } from './volumes.service.js';
