/** Days since the first one. */
export function parse(text: string): number {
  return parseInt(text.replace('day ', ''), 10);
}

export function format(day: number): string {
  return pad(`day ${day}`);
}

function pad(text: string): string {
  return text.padStart(8);
}

export function addDays(day: number, count: number): number {
  return day + count;
}
