package chart

import (
	"fmt"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The colours that are drawn with stand for those of the page. None is black,
// which vgsvg leaves out.
var (
	own  = color.RGBA{R: 255, A: 255} // of the series
	grid = color.RGBA{G: 255, A: 255}
	dim  = color.RGBA{B: 255, A: 255} // axes, and what is written at ticks
	ink  = color.RGBA{R: 255, G: 255, A: 255}
)

// theme puts the page's colours and font in the place of vgsvg's, in one line. What
// it looks for has a quotation mark or a line end, which text in the picture cannot
// have: the one is escaped, and at the other the library begins a new text.
var theme = strings.NewReplacer(slices.Concat(
	themed(own, "currentColor"), themed(grid, "var(--grid)"), themed(dim, "var(--dim)"), themed(ink, "var(--ink)"),
	[]string{"\n\t", " ", "\n", ""},
	[]string{`style="font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal;`, `style="`},
)...)

func themed(c color.RGBA, css string) []string {
	hex := fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B)
	return []string{
		`style="fill:none;stroke:` + hex, `style="fill:none;stroke:` + css, // vgsvg's Stroke,
		`style="fill:` + hex, `style="fill:` + css, // Fill,
		`;fill:` + hex + `"`, `;fill:` + css + `"`, // and FillString
	}
}

// canvas is the library's, with tags between the pieces of what is drawn on it.
type canvas struct {
	*vgsvg.Canvas             // what was drawn since the last tag
	done          []string    // what was drawn before, and the tags
	widths        []vg.Length // of the texts since the last tag
	room          vg.Length   // texts that are wider are squeezed; 0: none is
}

func newCanvas(w, h vg.Length) *canvas { return &canvas{Canvas: vgsvg.New(w, h)} }

// thinnest is the least width of a line. The library's outlined glyphs have half
// of a point, which nobody sees on a phone.
const thinnest = 1.0

// SetLineWidth implements vg.Canvas.
func (c *canvas) SetLineWidth(w vg.Length) {
	if w > 0 {
		w = max(w, thinnest)
	}
	c.Canvas.SetLineWidth(w)
}

// FillString implements vg.Canvas.
func (c *canvas) FillString(f font.Face, at vg.Point, text string) {
	w := f.Width(text)
	if c.room > 0 && w > c.room {
		at.X += (w - c.room) / 2
		w = c.room
	}
	c.widths = append(c.widths, w)
	c.Canvas.FillString(f, at, text)
}

// tag writes a piece of SVG behind what was drawn until now.
func (c *canvas) tag(svg string) {
	w, h := c.Size()
	c.done = append(c.done, c.piece(), svg)
	c.Canvas, c.widths = vgsvg.New(w, h), nil
}

// piece returns what was drawn since the last tag. The browser makes each text as
// wide as it was measured, whatever font it has for it.
func (c *canvas) piece() string {
	var b strings.Builder
	_, _ = c.WriteTo(&b)                                  // a Builder does not fail
	_, svg, _ := strings.Cut(b.String(), "<g transform=") // svg() has it once for all
	_, svg, _ = strings.Cut(svg, ">\n")
	texts := strings.Split(strings.TrimSuffix(svg, "</g>\n</svg>\n"), "<text ")
	for i, w := range c.widths {
		texts[i+1] = fmt.Sprintf(`<text textLength="%.2f" lengthAdjust="spacingAndGlyphs" `, w.Points()) + texts[i+1]
	}
	return theme.Replace(strings.Join(texts, ""))
}

// svg returns an element of all that was drawn. The library's origin is in the
// bottom left corner.
func (c *canvas) svg(attributes, before string) string {
	c.tag("")
	w, h := c.Size()
	return fmt.Sprintf(`<svg %s viewBox="0 0 %v %v">%s<g transform="translate(0, %v) scale(1, -1)">`, attributes, w.Points(), h.Points(), before, h.Points()) +
		strings.Join(c.done, "") + "</g></svg>"
}
