package store

import (
	"fmt"

	"example.com/ferry/internal/text"
)

// Journal remembers what happened.
type Journal struct {
	out text.Builder
}

// Note writes a line.
func (j *Journal) Note(line string) {
	j.out.Add(line)
	j.check()
}

// Close ends the journal.
func (j *Journal) Close() error {
	check := func() error { return j.out.Close() }
	return check()
}

func (j *Journal) check() {}

type missing string

func (m missing) Error() string { return fmt.Sprintf("no ticket %q", string(m)) }

// Copy saves everything of one keeper in another.
func Copy(from, to Keeper, ids []string) error {
	for _, id := range ids {
		found, err := from.Load(id)
		if err != nil {
			return err
		}
		if err := to.Save(*found); err != nil {
			return err
		}
	}
	return from.Close()
}
