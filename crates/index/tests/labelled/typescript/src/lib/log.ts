export class Log {
  private lines: string[] = [];

  write(line: string): void {
    this.lines.push(line);
    this.trim();
  }

  private trim(): void {
    while (this.lines.length > 100) this.lines.shift();
  }

  close(): void {
    this.write('closed');
  }
}

export const log = new Log();

export const silent = {
  write(_line: string): void {},
  close: () => {},
};
