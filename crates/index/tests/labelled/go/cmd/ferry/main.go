package main

import (
	"fmt"
	"os"

	"example.com/ferry/internal/route"
	"example.com/ferry/internal/store"
	. "example.com/ferry/internal/text"
	tickets "example.com/ferry/internal/ticket"
)

type app struct {
	keeper store.Keeper
	memory *store.Memory
	net    *route.Network
}

func main() {
	a := newApp()
	if err := a.run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, Format(err.Error()))
		os.Exit(1)
	}
}

func newApp() *app {
	return &app{keeper: store.NewMemory(), memory: store.NewMemory(), net: route.NewNetwork()}
}

func (a *app) run(args []string) error {
	defer a.close()
	way := route.New(a.net)
	leg := route.Leg{From: route.Port{Name: args[1]}}
	if err := way.Add(leg); err != nil {
		return err
	}
	sold := tickets.New("1", way)
	if err := a.keeper.Save(sold); err != nil {
		return err
	}
	a.memory.Save(sold)
	store := &shop{}
	store.Save(sold)
	line := sold.Format()
	print(Format(line))
	return nil
}

func (a *app) close() {
	a.keeper.Close()
	a.memory.Close()
	a.net.Close()
}

type shop struct{ count int }

// Save only counts.
func (s *shop) Save(t tickets.Ticket) { s.count++; t.Validate() }

func print(line string) { fmt.Println(line) }
