package page

import (
	"fmt"

	"github.com/firq-go/firq/cmd/firqbench/internal/chart"
)

// A page is at most 1.5 MB large, however many files it is made of: it goes by mail, and
// opens on a phone. So sections have so much room, and the one of latencies, which has most
// charts by far, what the others leave. What a table takes, and the text and the facts of so
// many files, is not known beforehand: if the page is too large, it is made again with less room.
const (
	pageMost   = 1_500_000
	pageRoom   = 1_400_000 // for charts and tables; the rest is text, facts and the style sheet
	pageStep   = 10_000    // less, at least: some charts
	littleRoom = 150_000
	someRoom   = 250_000
)

// tableSize is about how large a chart's part of a table is.
func tableSize(c *chart.Chart) int {
	const row, cell, withRange = 45, 22, 60
	n := 200 // its heading
	for _, r := range c.Table() {
		n += row + cell*len(r.Cells)
		for _, x := range r.Cells {
			if x.Range != "" && !c.Across {
				n += withRange - cell
			}
		}
	}
	return n
}

// full says that there is no room for a chart in this section, nor for those after it.
func (b *builder) full(c *chart.Chart) bool {
	if b.room > 0 {
		return false
	}
	if b.without == 0 {
		b.first = c.Title
	}
	b.without++
	return true
}

// leftOut says which charts a section has had no room for, "" if there are none.
func (b *builder) leftOut(section string) string {
	switch b.without {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("Left out, because the page would become too large: %s. firqbench report --only %s shows it.", b.first, section)
	}
	return fmt.Sprintf("Left out, because the page would become too large: %d charts, from “%s” on. firqbench report --only %s, with scenario=NAME or contestant=NAME, shows them.",
		b.without, b.first, section)
}

// roomFor returns how much a section may take, of a page that has so much room: own, or what
// others, that have taken used already, have left; on a page with a few chosen ones, its part.
func roomFor(page, own, used, chosen int) int {
	switch {
	case chosen > 0:
		return page / chosen
	case own == 0:
		return page - used
	}
	return min(own, page)
}
