import { describe, expect, it } from 'vitest';
import { Book } from '../src/books/book';
import { Log } from '../src/lib/log';
import { lend } from '../src/loans/loan';

describe('a loan', () => {
  const book = new Book('a title', new Log());

  function lent() {
    return lend(book, 'day 3');
  }

  it('describes its book', () => {
    const words = book.describe();
    expect(lent().describe()).toContain(words);
  });

  it('can be closed', () => {
    const loan = lend(book, 'day 1');
    loan.close();
    book.close();
  });
});
