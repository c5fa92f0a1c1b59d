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
	if err := Write(&b, files); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// whole is the page of everything, and its charts.
var whole = sync.OnceValues(func() (string, []drawn) {
	var b strings.Builder
	if err := Write(&b, everything()); err != nil {
		panic(err)
	}
	return b.String(), charts(b.String())
})

// drawn is a chart as the page has it.
type drawn struct {
	title   string
	legend  []string
	series  []string             // of the picture
	lines   map[string][]float64 // heights above the bottom of the picture, where there is a line
	columns []string             // of the table
	rows    [][]string           // exact values
}

var (
	figures = regexp.MustCompile(`(?s)<figure id="([^"]+)">\n<figcaption>(.*?)</figcaption>(.*?)</figure>`)
	inList  = regexp.MustCompile(`<li><svg class="swatch".*?</svg>(.*?)</li>`)
	inSVG   = regexp.MustCompile(`data-series="(.*?)"><title>[^<]*</title>(?:<g class="line"><path d="(.*?)")?`)
	columns = regexp.MustCompile(`<th scope="col">(.*?)</th>`)
	rows    = regexp.MustCompile(`<tr><th scope="row">.*</tr>`)
	cells   = regexp.MustCompile(`<t[hd][^>]*>(?:<data value="(.*?)">[^<]*</data>)?`)
	points  = regexp.MustCompile(`[ML][-\d.]+,([-\d.]+)`)
)

func all(re *regexp.Regexp, text string) (found []string) {
	for _, m := range re.FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

func charts(html string) (cs []drawn) {
	for _, m := range figures.FindAllStringSubmatch(html, -1) {
		c := drawn{title: m[2], legend: all(inList, m[3]), lines: map[string][]float64{}, columns: all(columns, m[3])}
		for _, s := range inSVG.FindAllStringSubmatch(m[3], -1) {
			c.series = append(c.series, s[1])
			for _, y := range all(points, s[2]) {
				v, _ := strconv.ParseFloat(y, 64)
				c.lines[s[1]] = append(c.lines[s[1]], v)
			}
		}
		for _, row := range rows.FindAllString(m[3], -1) {
			c.rows = append(c.rows, all(cells, row))
		}
		cs = append(cs, c)
	}
	return cs
}
