export { volumes } from './volumes.module.js';
