import React, { useState, type FC } from 'react';
import { Button } from './button';
import * as layout from './layout';
import Icon from './icon';

interface Props {
  title: string;
  onClose?: () => void;
}

/** A window with a title. */
export const Panel: FC<Props> = ({ title, onClose }) => {
  const [open, setOpen] = useState(true);
  const toggle = () => setOpen(!open);
  return (
    <layout.Frame wide>
      <h1 className="title">{format(title)}</h1>
      <Button onClick={toggle}>close</Button>
      <Icon name="x" />
      {open && <Inner.Body {...rest} />}
    </layout.Frame>
  );
};

/** A row of a list. */
export const Row = React.forwardRef<HTMLLIElement, Props>(function Row(props, ref) {
  return <li ref={ref}>{props.title}</li>;
});

export default function App() {
  return <Panel title="a" onClose={() => close()} />;
}

describe('Panel', () => {
  const view = render(<Panel title="t" />);

  // What people see first.
  it('shows its title', () => {
    expect(view.find('h1')).toBe('t');
    press(view);
  });
  it.each([1, 2])('counts %i', (n) => count(n));
  test.skip(`says ${'hello'}`, async () => {});
  it('is only planned');
});
