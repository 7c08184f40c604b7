import { addDays, parse as readDay } from '../lib/dates';
import * as dates from '../lib/dates';
import total, { parse, type Amount } from '../lib/money';
import { Book } from '../books/book';

export abstract class Entry {
  constructor(protected readonly book: Book) {}

  describe(): string {
    return this.book.describe();
  }

  abstract close(): void;
}

export class Loan extends Entry {
  private due = 0;

  start(day: string, days: number): void {
    this.due = addDays(readDay(day), days);
    this.book.open();
  }

  describe(): string {
    return `${super.describe()} until ${dates.format(this.due)}`;
  }

  close(): void {
    this.book.close();
    this.settle([parse('1')]);
  }

  private settle(fees: Amount[]): Amount {
    return total(fees);
  }
}

export function lend(book: Book, day: string): Loan {
  const loan = new Loan(book);
  loan.start(day, 14);
  return loan;
}

export function each(loans: Loan[], format: (loan: Loan) => string): string[] {
  return loans.map((loan) => format(loan));
}
