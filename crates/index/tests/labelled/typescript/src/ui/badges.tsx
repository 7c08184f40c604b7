export const Count = ({ value }: { value: number }) => <b>{format(value)}</b>;

function format(value: number): string {
  return value > 9 ? 'many' : String(value);
}
