package page

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func write(t *testing.T, files []File) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, files, Only{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// page of everything, and its charts.
var whole = sync.OnceValues(func() (string, []drawn) {
	var b strings.Builder
	if err := Write(&b, everything(), Only{}); err != nil {
		panic(err)
	}
	return b.String(), charts(b.String())
})

// drawn is a chart as the page has it.
type drawn struct {
	title   string
	note    string
	series  []string                // of the picture
	lines   map[string][][2]float64 // places from the top left corner on, where there is a line
	legend  []string                // of the part, and so are the columns of the table
	columns []string
	rows    [][]string // of the table: the name of each, and its values
}

var (
	parts   = regexp.MustCompile(`(?s)<section class="part" id="[^"]+" aria-labelledby="[^"]+">\n<h3 (.*?)</section>`)
	figures = regexp.MustCompile(`(?s)<figure id="([^"]+)">\n<figcaption>(.*?)</figcaption>(.*?)</figure>`)
	notes   = regexp.MustCompile(`<p class="small">(.*?)</p>`)
	inList  = regexp.MustCompile(`<li><svg class="swatch.*?</svg>(.*?)</li>`)
	inSVG   = regexp.MustCompile(`<g class="series s\d+"><title>([^<]*)</title>(?:<path class="(?:band|range|span)"[^>]*>)*(?:<path class="line" d="(.*?)")?`)
	columns = regexp.MustCompile(`<th scope="col">(.*?)</th>`)
	tables  = regexp.MustCompile(`(?s)<tbody>\n<tr><th class="chart-name" colspan="\d+" scope="rowgroup"><div>(.*?)(?: <small>.*?</small>)?</div></th></tr>(.*?)</tbody>`)
	rows    = regexp.MustCompile(`<tr><th scope="row">.*</tr>`)
	cells   = regexp.MustCompile(`<t[hd][^>]*>([^<]*)`)
	points  = regexp.MustCompile(`[M ](-?[\d.]+),(-?[\d.]+)`)
)

func all(re *regexp.Regexp, text string) (found []string) {
	for _, m := range re.FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

func charts(html string) (cs []drawn) {
	for _, part := range all(parts, html) {
		numbers := map[string][][]string{}
		for _, m := range tables.FindAllStringSubmatch(part, -1) {
			for _, row := range rows.FindAllString(m[2], -1) {
				numbers[m[1]] = append(numbers[m[1]], all(cells, row))
			}
		}
		for _, m := range figures.FindAllStringSubmatch(part, -1) {
			c := drawn{title: m[2], legend: all(inList, part), lines: map[string][][2]float64{}, columns: all(columns, part), rows: numbers[m[2]]}
			c.note = strings.Join(all(notes, m[3]), "")
			for _, s := range inSVG.FindAllStringSubmatch(m[3], -1) {
				c.series = append(c.series, s[1])
				for _, p := range points.FindAllStringSubmatch(s[2], -1) {
					x, _ := strconv.ParseFloat(p[1], 64)
					y, _ := strconv.ParseFloat(p[2], 64)
					c.lines[s[1]] = append(c.lines[s[1]], [2]float64{x, y})
				}
			}
			cs = append(cs, c)
		}
	}
	return cs
}
