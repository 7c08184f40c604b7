package route

import "sync"

// Network is all legs that anybody sails.
type Network struct {
	sync.Mutex
	known map[string]int
}

// NewNetwork returns a network without legs.
func NewNetwork() *Network {
	network := &Network{known: make(map[string]int)}
	network.reset()
	return network
}

// Note counts a leg.
func (n *Network) Note(leg Leg) {
	n.Lock()
	defer n.Unlock()
	n.known[key(leg)]++
}

// Close forgets everything.
func (n *Network) Close() error {
	n.reset()
	return nil
}

func (n *Network) reset() { n.known = map[string]int{} }

func key(leg Leg) string {
	if check(leg) != nil {
		return ""
	}
	return leg.From.String() + leg.To.Name
}
