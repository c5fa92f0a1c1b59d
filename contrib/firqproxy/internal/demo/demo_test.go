package demo

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRun: both ways are measured, and drawn.
func TestRun(t *testing.T) {
	svg := filepath.Join(t.TempDir(), "quiet.svg")
	var out bytes.Buffer
	if err := Run(context.Background(), &out, time.Second, svg); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(svg)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"httputil.ReverseProxy", "firqproxy"} {
		if !strings.Contains(out.String(), name) || !strings.Contains(string(text), ">"+name+"<") {
			t.Errorf("no %s\n%s", name, &out)
		}
	}
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestPercentile(t *testing.T) {
	s := series{}
	for i := range 200 {
		s.samples = append(s.samples, sample{took: time.Duration(200-i) * time.Millisecond})
	}
	if a, b := s.percentile(50), s.percentile(99); a != 101*time.Millisecond || b != 199*time.Millisecond {
		t.Errorf("%v %v", a, b)
	}
}
