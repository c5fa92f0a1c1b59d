package demo

import (
	"bytes"
	"fmt"
	"time"
)

// Measures of the picture.
const (
	width, height            = 744, 372
	left, right, top, bottom = 60, 20, 98, 44
)

// draw returns an SVG: a dot for each request of a quiet tenant, by when it was sent and how
// long its answer took.
func draw(all []*series, d time.Duration) []byte {
	most := 10 * time.Millisecond
	for _, s := range all {
		for _, a := range s.samples {
			most = max(most, a.took)
		}
	}
	step := 10 * time.Millisecond
	for _, s := range []int{20, 50, 100, 200, 500, 1000, 2000, 5000} {
		if most/step > 5 {
			step = time.Duration(s) * time.Millisecond
		}
	}
	most = (most + step - 1) / step * step
	x := func(at time.Duration) float64 { return left + (width-left-right)*at.Seconds()/d.Seconds() }
	y := func(took time.Duration) float64 {
		return height - bottom - (height-top-bottom)*took.Seconds()/most.Seconds()
	}

	var b bytes.Buffer
	say := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	say(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">
<title>Latency of quiet tenants beside a flood</title>
<style>
text { font: 14px ui-sans-serif, system-ui, sans-serif; fill: #0a0f25 } .name { font-weight: 600 } .back { fill: #ffffff } line { stroke: #d5dbe8 }
.s0 { fill: #c2410c } .s1 { fill: #0d32b2 }
@media (prefers-color-scheme: dark) { text { fill: #cdd6f4 } .back { fill: #1e1e2e } line { stroke: #45475a } .s0 { fill: #fab387 } .s1 { fill: #89b4fa } }
</style>
<rect class="back" width="%d" height="%d"/>
<text x="%d" y="20">How long requests of quiet tenants took while another one floods: a dot each</text>
`, width, height, width, height, width, height, left)
	for took := time.Duration(0); took <= most; took += step {
		say("<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%d ms</text>\n", left, y(took), width-right, y(took), left-6, y(took)+5, took.Milliseconds())
	}
	for at := time.Duration(0); at <= d; at += max(time.Second, d/8) {
		say("<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d s</text>\n", x(at), height-bottom+20, int(at.Seconds()))
	}
	for i, s := range all {
		at := left + i*(width-left-right)/2
		say("<circle class=\"s%d\" cx=\"%d\" cy=\"46\" r=\"5\"/><text class=\"name\" x=\"%d\" y=\"51\">%s</text><text x=\"%d\" y=\"69\">half in %.1f ms, 99 %% in %.1f ms</text><text x=\"%d\" y=\"87\">the flood gets %.0f/s</text>\n",
			i, at+5, at+16, s.name, at+16, ms(s.percentile(50)), ms(s.percentile(99)), at+16, s.noisy)
		for _, a := range s.samples {
			if a.at <= d {
				say("<circle class=\"s%d\" cx=\"%.0f\" cy=\"%.0f\" r=\"2\"/>", i, x(a.at), y(a.took))
			}
		}
		say("\n")
	}
	say("</svg>\n")
	return b.Bytes()
}
