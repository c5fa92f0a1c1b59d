package chart

import (
	"fmt"
	"strings"
)

// Slots is how many styles there are. A series of slot Slots or more looks like
// that of slot mod Slots. The last style has no marker, so it is for lines.
const Slots = 11

// style is what a slot looks like, but for the colour.
type style struct {
	dash string // of lines
	mark string // the marker, around 0,0
}

const (
	full   = ` fill="currentColor"`
	hollow = ` fill="none" stroke="currentColor" stroke-width="1.4"`
)

var styles = [Slots]style{
	{"", `<circle r="3.4"` + full + `/>`},
	{"7 3", `<path d="M-3,-3H3V3H-3Z"` + full + `/>`},
	{"2 3", `<path d="M0,-4L3.6,2.6H-3.6Z"` + full + `/>`},
	{"8 3 2 3", `<path d="M-3,-3L3,3M-3,3L3,-3"` + hollow + `/>`},
	{"5 2 1 2 1 2", `<circle r="3"` + hollow + `/>`},
	{"4 4", `<path d="M-3,-3H3V3H-3Z"` + hollow + `/>`},
	{"12 4", `<path d="M0,-4L3.6,2.6H-3.6Z"` + hollow + `/>`},
	{"10 3 2 3 2 3", `<path d="M-4,0H4M0,-4V4"` + hollow + `/>`},
	{"3 2", `<path d="M0,-4L3.4,0L0,4L-3.4,0Z"` + full + `/>`},
	{"6 2 2 2", `<path d="M0,-4L3.4,0L0,4L-3.4,0Z"` + hollow + `/>`},
	{"1 3", ""},
}

// Defs is what the charts of a page share: markers, and frames that several charts have
// alike. The zero value is ready; a page has one, and writes it once. Its IDs are a letter and a number.
type Defs struct {
	ids    map[string]string // by frame
	frames []string
	marks  [Slots]bool // that are used
}

// Len is how long SVG is, about.
func (d *Defs) Len() (n int) {
	for _, f := range d.frames {
		n += len(f)
	}
	return n
}

// SVG returns the element that the charts drawn with d refer to. The page may have it
// before or after them.
func (d *Defs) SVG() string {
	var b strings.Builder
	b.WriteString(`<svg class="defs" width="0" height="0" aria-hidden="true"><defs>`)
	for slot, used := range d.marks {
		if used {
			fmt.Fprintf(&b, `<g id="m%d">%s</g>`, slot, styles[slot].mark)
		}
	}
	for i, f := range d.frames {
		fmt.Fprintf(&b, `<g id="f%d">%s</g>`, i+1, f)
	}
	b.WriteString("</defs></svg>")
	return b.String()
}

// frame returns the ID of a frame.
func (d *Defs) frame(svg string) string {
	if d.ids == nil {
		d.ids = map[string]string{}
	}
	if d.ids[svg] == "" {
		d.frames = append(d.frames, svg)
		d.ids[svg] = fmt.Sprintf("f%d", len(d.frames))
	}
	return d.ids[svg]
}

// mark puts a slot's marker somewhere, "" if it has none; inside goes into the element.
func (d *Defs) mark(slot int, x, y float64, inside string) string {
	slot %= Slots
	if styles[slot].mark == "" {
		return ""
	}
	d.marks[slot] = true
	use := fmt.Sprintf(`<use href="#m%d" x="%s" y="%s"`, slot, number(x), number(y))
	if inside == "" {
		return use + "/>"
	}
	return use + ">" + inside + "</use>"
}

// dashes returns the attribute of a slot's lines.
func dashes(slot int) string {
	if dash := styles[slot%Slots].dash; dash != "" {
		return ` stroke-dasharray="` + dash + `"`
	}
	return ""
}

// Swatch returns a small picture of a slot's line and marker, for a legend.
func (d *Defs) Swatch(slot int, marks bool) string {
	line := ""
	if !marks {
		line = `<path class="line" d="M1,7H27"` + dashes(slot) + `/>`
	}
	return fmt.Sprintf(`<svg class="swatch s%d" viewBox="0 0 28 14" aria-hidden="true">%s%s</svg>`, slot%Slots, line, d.mark(slot, 14, 7, ""))
}
