export { parse as parseDay, format as formatDay, addDays } from './dates';
export * as money from './money';
export * from './log';
