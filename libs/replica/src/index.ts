export * from './replicated-state.js';
