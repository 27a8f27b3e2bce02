export { api } from './api.service.js';
