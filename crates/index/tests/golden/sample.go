// Package pantry keeps what is in store, and what runs out.
package pantry

import (
	"context"
	"fmt"
	. "strings"

	_ "embed"

	clock "example.com/kitchen/internal/time"
	"example.com/kitchen/shelf/v2"
	"gopkg.in/yaml.v3"
	"./spice"
)

// Limit is how much fits.
const Limit = 12

const (
	// Dry goods keep for long.
	Dry Kind = iota
	fresh // tomorrow is too late
	_
)

var (
	fallback       = &Shelf{}
	first, second  = 1, 2
	labels         = map[Kind]string{Dry: label(Dry)}
	_        Store = (*Shelf)(nil)
)

// Kind sorts goods.
//
//go:generate stringer -type=Kind
type Kind int

type (
	// Good is one thing.
	Good struct {
		Name  string
		Kind  Kind
		owner *shelf.Owner
	}
	Goods []Good
	Alias = shelf.Row
)

// Store holds goods.
type Store interface {
	fmt.Stringer
	Reader
	// Put adds a good.
	Put(ctx context.Context, good Good) error
	take(name string) (Good, bool)
}

type Number interface {
	~int | ~float64
}

// Shelf is a Store in memory.
type Shelf struct {
	Base
	*shelf.Row
	goods map[string]Good
	next  *Counter
	Named[Good]
}

type Counter struct{ value int }

func (c *Counter) Step() int { c.value++; return c.value }

// NewShelf returns an empty shelf.
func NewShelf(size int) (*Shelf, error) {
	if size > Limit {
		return nil, fmt.Errorf("too big: %d", size)
	}
	return &Shelf{goods: make(map[string]Good, size), next: new(Counter)}, nil
}

// Put adds a good.
func (s *Shelf) Put(ctx context.Context, good Good) error {
	s.next.Step()
	s.check(good)
	clock.Now()
	yaml.Marshal(good)
	if err := validate(good); err != nil {
		return err
	}
	other, err := NewShelf(3)
	other.Put(ctx, good)
	fresh := Good{Name: "salt"}
	fresh.Describe()
	switch v := any(good).(type) {
	case Counter:
		v.Step()
	case *Shelf, Kind:
		v.Lost()
	}
	validate := func(g Good) error { return g.Check() }
	validate(good)
	return err
}

func (s Shelf) check(g Good) { Shelf.Drop(s); fallback.check(g) }

func (Shelf) Drop() {}

// List is a list of anything.
type List[T any] struct{ items []T }

func (l *List[T]) Push(item T) { l.items = append(l.items, item); l.grow() }

// Map turns each item into another.
func Map[T, U any](items []T, turn func(T) U) []U {
	out := make([]U, 0, len(items))
	for i, item := range items {
		out = append(out, turn(item))
		item.Visit(i)
	}
	_ = Map[int, string](nil, nil)
	return out
}

func label(kind Kind) string { return ToUpper(string(kind)) + max("a", "b") }
