// Package route knows the ports and the ways between them.
package route

import (
	"errors"
	"fmt"

	layout "example.com/ferry/internal/text"
)

// Port is a place where ferries land.
type Port struct {
	Name string
}

// String is the port's name.
func (p Port) String() string { return layout.Format(p.Name) }

// Leg is a way from one port to another.
type Leg struct {
	From, To Port
	minutes  int
}

// Route is a way over several legs.
type Route struct {
	legs []Leg
	net  *Network
}

// New returns an empty route.
func New(net *Network) *Route { return &Route{net: net} }

// Add adds a leg.
func (r *Route) Add(leg Leg) error {
	if err := check(leg); err != nil {
		return fmt.Errorf("leg: %w", err)
	}
	r.legs = append(r.legs, leg)
	r.net.Note(leg)
	return nil
}

// Minutes is how long it takes.
func (r *Route) Minutes() int {
	total := 0
	for _, leg := range r.legs {
		total += max(leg.minutes, 1)
	}
	return total
}

// Format writes the route down.
func (r *Route) Format() string {
	builder := &layout.Builder{}
	for _, leg := range r.legs {
		builder.Add(leg.From.String())
	}
	return builder.String()
}

func check(leg Leg) error {
	if leg.From == leg.To {
		return errors.New("nowhere to go")
	}
	return nil
}

func max(a, b int) int {
	if a > b {
		return a
	}
	return b
}
