export { lend, each, Loan } from './loan';
export { default as remind } from './remind';
