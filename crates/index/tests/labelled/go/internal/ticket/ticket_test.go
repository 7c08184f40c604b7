package ticket

import (
	"testing"

	"example.com/ferry/internal/route"
)

func sample(t *testing.T) Ticket {
	t.Helper()
	way := route.New(route.NewNetwork())
	if err := way.Add(route.Leg{}); err != nil {
		t.Log(err)
	}
	return New("a", way)
}

func TestAnEmptyJourneyIsNotSold(t *testing.T) {
	ticket := sample(t)
	if ticket.Validate() == nil {
		t.Fatal("sold")
	}
}

func TestPrices(t *testing.T) {
	if price(2) != Price(24) {
		t.Fatal(price(2).Format())
	}
}
