export { asHolder, asNode, asService, type Author, onBehalfOf } from './author.js';
export {
  type Committed,
  type Decision,
  MAX_CONFLICTS,
  type Seen,
  TransactionWriter,
  type TransactionWriterDeps,
  type Written,
} from './transaction-writer.js';
