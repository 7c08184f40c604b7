// Package store keeps tickets.
package store

import (
	"io"

	"example.com/ferry/internal/ticket"
)

// Keeper keeps tickets somewhere.
type Keeper interface {
	io.Closer
	Save(t ticket.Ticket) error
	Load(id string) (*ticket.Ticket, error)
}

// Memory keeps tickets until the program ends.
type Memory struct {
	tickets map[string]ticket.Ticket
	log     Journal
}

// NewMemory returns an empty keeper.
func NewMemory() *Memory { return &Memory{tickets: map[string]ticket.Ticket{}} }

// Save keeps a ticket.
func (m *Memory) Save(t ticket.Ticket) error {
	if err := t.Validate(); err != nil {
		return err
	}
	m.tickets[t.ID] = t
	m.log.Note(t.Format())
	return nil
}

// Load finds a ticket.
func (m *Memory) Load(id string) (*ticket.Ticket, error) {
	found, ok := m.tickets[id]
	if !ok {
		return nil, missing(id)
	}
	return &found, nil
}

// Close ends the journal.
func (m *Memory) Close() error { return m.log.Close() }
