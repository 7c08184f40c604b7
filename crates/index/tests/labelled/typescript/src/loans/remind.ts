import { formatDay, log, money, silent } from '../lib';
import type { Loan } from './loan';
import { fetch } from '../lib/fetch';

export default async function remind(loan: Loan, day: number): Promise<void> {
  const text = await fetch(loan.describe());
  log.write(`${text} ${formatDay(day)}`);
  silent.write(text);
  silent.close();
  money.format(money.parse('2'));
}

export async function remindAll(loans: Loan[]): Promise<void> {
  const parse = (text: string) => text.length;
  for (const loan of loans) await remind(loan, parse('soon'));
}
