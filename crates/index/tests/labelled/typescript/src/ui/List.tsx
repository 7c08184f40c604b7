import { useState } from 'react';
import { Head, Row as Line } from './Row';
import * as badges from './badges';
import { each, type Loan } from '../loans';

export default function List({ loans }: { loans: Loan[] }) {
  const [open, setOpen] = useState(loans);
  const close = (loan: Loan) => {
    loan.close();
    setOpen(open.filter((other) => other !== loan));
  };
  const labels = each(open, (loan) => loan.describe());
  return (
    <ul title={labels.join()}>
      <Head />
      {open.map((loan) => (
        <Line loan={loan} onClose={() => close(loan)} />
      ))}
      <badges.Count value={open.length} />
    </ul>
  );
}
