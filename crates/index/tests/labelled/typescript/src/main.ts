import { Shelf } from '@/books/shelf';
import { Book } from './books/book';
import { Log } from './lib';
import { lend, remind } from './loans';
import { addDays } from './lib/dates.js';
import report from './legacy/report';

const shelf = new Shelf(new Log());

export async function main(): Promise<void> {
  const book = Book.blank(new Log());
  shelf.add(book);
  const loan = lend(book, 'day 1');
  await remind(loan, addDays(1, 2));
  setTimeout(() => shelf.close(), 10);
  report.print([]);
  const { remindAll } = await import('./loans/remind');
  await remindAll([loan]);
  finish();

  function finish(): void {
    console.log('done');
    shelf.find('x')?.describe();
  }
}

main();
