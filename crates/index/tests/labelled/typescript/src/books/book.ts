import { Log } from '../lib/log';

export class Book {
  private readonly log: Log;

  constructor(public readonly title: string, log: Log) {
    this.log = log;
  }

  open(): void {
    this.log.write(this.describe());
  }

  close(): void {
    this.log.close();
  }

  describe(): string {
    return `book ${this.title}`;
  }

  static blank(log: Log): Book {
    return new Book('', log);
  }
}
