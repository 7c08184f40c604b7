// Package ticket is what a passenger holds.
package ticket

import (
	"errors"

	"example.com/ferry/internal/route"
	"example.com/ferry/internal/text"
)

// Ticket is good for one journey.
type Ticket struct {
	ID    string
	Route *route.Route
	Price Price
}

// Price is in cents.
type Price int

// Format writes the price down.
func (p Price) Format() string { return text.Format(string(rune(p))) }

// New sells a ticket.
func New(id string, way *route.Route) Ticket {
	return Ticket{ID: id, Route: way, Price: price(way.Minutes())}
}

func price(minutes int) Price { return Price(minutes * rate()) }

func rate() int { return 12 }

// Validate says what is wrong with a ticket.
func (t Ticket) Validate() error {
	if t.Route == nil || t.Route.Minutes() == 0 {
		return errors.New("no journey")
	}
	return check(t)
}

// Format writes the ticket down.
func (t *Ticket) Format() string {
	journey := t.Route.Format()
	price := t.Price.Format()
	return journey + price + text.Format(t.ID)
}

func check(t Ticket) error { return nil }
