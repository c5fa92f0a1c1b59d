package hist

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// WriteLogHeader writes the opening lines of an HdrHistogram interval log:
// format version, start of the log and column names. Readers do without it; it
// belongs once at the top of a file that WriteLog is to append to. A start
// before 1970 is an error.
func WriteLogHeader(w io.Writer, start time.Time) error {
	if start.UnixMilli() < 0 {
		return fmt.Errorf("hist: log start %v is before 1970", start)
	}
	lw := hdrhistogram.NewHistogramLogWriter(w)
	err := lw.OutputLogFormatVersion()
	if err == nil {
		err = lw.OutputStartTime(start.UnixMilli())
	}
	if err == nil {
		err = lw.OutputLegend()
	}
	return wrap("log header", err)
}

// WriteLog writes s as one line of an HdrHistogram interval log (version 1.3),
// the format that HdrHistogram's log processors and plotters read: values in
// nanoseconds, the column with the interval's maximum in milliseconds,
// timestamps absolute, with a resolution of 1 ms. The interval is
// [start, start+length).
//
// tag names the series and may be empty; commas, spaces and line breaks in it,
// a start before 1970 and a negative length are errors, and then nothing is
// written. Each line stands for itself: call it once per interval and tag,
// after WriteLogHeader or without.
func (s *Snapshot) WriteLog(w io.Writer, tag string, start time.Time, length time.Duration) error {
	switch {
	case strings.ContainsAny(tag, ", \r\n"):
		return fmt.Errorf("hist: log tag %q contains a comma, a space or a line break", tag)
	case start.UnixMilli() < 0: // the format has no sign
		return fmt.Errorf("hist: log interval starts %v, before 1970", start)
	case length < 0:
		return fmt.Errorf("hist: log interval is %v long", length)
	}
	h := s.hdr()
	h.SetTag(tag)
	h.SetStartTimeMs(start.UnixMilli())
	h.SetEndTimeMs(start.Add(length).UnixMilli())
	return wrap("log", hdrhistogram.NewHistogramLogWriter(w).OutputIntervalHistogram(h))
}

// WritePercentiles writes the percentile distribution as text (an .hgrm file,
// which HdrHistogram's plotter takes): values in microseconds with three
// decimals, five lines for each halving of the distance to 100 %.
func (s *Snapshot) WritePercentiles(w io.Writer) error {
	const ticks, nsPerUs = 5, 1000
	_, err := s.hdr().PercentilesPrint(w, ticks, nsPerUs)
	return wrap("percentiles", err)
}

// hdr returns a copy of s in the form that HdrHistogram encodes. The slots are
// the same; only the rows have to be laid end to end.
func (s *Snapshot) hdr() *hdrhistogram.Histogram {
	flat := make([]int64, rows*rowLen)
	for i, r := range &s.c.rows {
		if r != nil {
			copy(flat[i<<rowBits:], r[:])
		}
	}
	return hdrhistogram.Import(&hdrhistogram.Snapshot{
		LowestTrackableValue:  int64(Lowest),
		HighestTrackableValue: int64(Highest),
		SignificantFigures:    digits,
		Counts:                flat,
	})
}

func wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("hist: write %s: %w", what, err)
	}
	return nil
}
