import { Book } from './book';
import type { Log } from '../lib';

export class Shelf {
  private books: Book[] = [];

  constructor(private readonly log: Log) {}

  add(book: Book): void {
    book.open();
    this.books.push(book);
    this.sort();
  }

  find(title: string): Book | undefined {
    const matches = (book: Book) => book.describe().includes(title);
    return this.books.find((book) => matches(book));
  }

  close(): void {
    for (const book of this.books) book.close();
    this.log.write('shelf closed');
  }

  private sort(): void {
    this.books.sort((a, b) => compare(a, b));
  }
}

function compare(a: Book, b: Book): number {
  return a.title.localeCompare(b.title);
}
