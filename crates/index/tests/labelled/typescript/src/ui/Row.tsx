import type { Loan } from '../loans';

export interface RowProps {
  loan: Loan;
  onClose: (loan: Loan) => void;
}

export function Row({ loan, onClose }: RowProps) {
  const close = () => {
    onClose(loan);
  };
  return <li onClick={close}>{label(loan)}</li>;
}

export const Head = () => <li className="head">loans</li>;

function label(loan: Loan): string {
  return loan.describe();
}
