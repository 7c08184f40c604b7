export interface Amount {
  cents: number;
}

export function parse(text: string): Amount {
  return { cents: Number(text) * 100 };
}

export function format(amount: Amount): string {
  return pad(String(amount.cents)) + ' cents';
}

function pad(text: string): string {
  return text.padStart(12);
}

export default function sum(amounts: Amount[]): Amount {
  let cents = 0;
  for (const amount of amounts) cents += amount.cents;
  return { cents };
}
