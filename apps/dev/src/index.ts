export { launch } from './launcher.js';
