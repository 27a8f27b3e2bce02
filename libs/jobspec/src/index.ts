export { JobspecError } from './syntax/diagnostic.js';
