package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// spread of the latencies of some calls.
type spread struct{ half, most, longest time.Duration }

func quantiles(calls []sample) (s spread) {
	took := make([]time.Duration, 0, len(calls))
	for _, c := range calls {
		took = append(took, c.took)
	}
	if slices.Sort(took); len(took) > 0 {
		s = spread{took[len(took)/2], took[len(took)*99/100], took[len(took)-1]}
	}
	return s
}

// The picture's size, and where its plot is.
const (
	width, height          = 800, 320
	left, right, top, foot = 70, 785, 30, 275
	columns                = 120 // of time
)

// draw returns a picture (SVG) of the latencies over time, on a logarithmic scale.
func (r *rolling) draw() []byte {
	parts := make([][]sample, columns)
	for _, c := range r.calls {
		i := min(int(c.at*columns/r.took), columns-1)
		parts[i] = append(parts[i], c)
	}
	low, high := math.Inf(1), 0.0 // decades of µs
	lines := make([]strings.Builder, 3)
	for _, p := range parts {
		if s := quantiles(p); len(p) > 0 {
			low, high = min(low, math.Floor(decade(s.half))), max(high, math.Ceil(decade(s.longest)))
		}
	}
	for i, p := range parts {
		s := quantiles(p)
		for j, d := range []time.Duration{s.half, s.most, s.longest} {
			if len(p) > 0 {
				_, _ = fmt.Fprintf(&lines[j], "%.1f,%.1f ", across(float64(i)/columns), up((decade(d)-low)/(high-low)))
			}
		}
	}
	var b strings.Builder
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(&b, format+"\n", args...) }
	line(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">`, width, height, width, height)
	line(`<style>text{font:14px system-ui,sans-serif;fill:#222}polyline{fill:none;stroke-width:2}.back{fill:#fff}.grid{stroke:#ccc}.at{stroke:#888;stroke-dasharray:4}`)
	line(`@media (prefers-color-scheme: dark){text{fill:#ddd}.back{fill:#1e1e2e}.grid{stroke:#444}}</style>`)
	line(`<rect class="back" width="%d" height="%d"/>`, width, height)
	for d := low; d <= high; d++ {
		y := up((d - low) / (high - low))
		line(`<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/><text x="%d" y="%.1f" text-anchor="end">%v</text>`,
			left, y, right, y, left-6, y+5, time.Duration(math.Pow(10, d))*time.Microsecond)
	}
	for i, at := range r.replaced {
		x := across(float64(at) / float64(r.took))
		line(`<line class="at" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/><text x="%.1f" y="%d">process %d</text>`, x, top, x, foot, x+4, top-8, i+1)
	}
	for i, colour := range []string{"#2563eb", "#d97706", "#dc2626"} {
		line(`<polyline stroke="%s" points="%s"/>`, colour, strings.TrimSpace(lines[i].String()))
		line(`<text x="%d" y="%d" style="fill:%s">%s</text>`, left+i*130, foot+35, colour, [...]string{"half of the calls", "99 of 100", "the longest"}[i])
	}
	line(`<text x="%d" y="%d" text-anchor="end">%v, %d calls, %d failed</text>`, right, foot+35, r.took.Round(time.Second/10), len(r.calls), r.failures)
	line(`</svg>`)
	return []byte(b.String())
}

func decade(d time.Duration) float64 { return math.Log10(max(float64(d)/1e3, 1)) }
func across(part float64) float64    { return left + part*(right-left) }
func up(part float64) float64        { return foot - part*(foot-top) }
