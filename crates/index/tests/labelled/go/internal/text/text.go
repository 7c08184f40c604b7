// Package text lays out lines for a small screen.
package text

import "strings"

// Width is how wide a line is.
const Width = 20

// Format cuts or fills a line.
func Format(line string) string {
	if len(line) > Width {
		return cut(line)
	}
	return pad(line)
}

func cut(line string) string { return line[:Width] }

func pad(line string) string { return line + strings.Repeat(" ", Width-len(line)) }

// Builder gathers lines.
type Builder struct {
	lines []string
}

// Add adds a line.
func (b *Builder) Add(line string) *Builder {
	b.lines = append(b.lines, Format(line))
	return b
}

// String joins the lines.
func (b *Builder) String() string {
	b.flush()
	return strings.Join(b.lines, "\n")
}

func (b *Builder) flush() {}

// Close ends the text.
func (b *Builder) Close() error { return nil }
