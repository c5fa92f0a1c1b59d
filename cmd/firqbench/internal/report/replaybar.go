package report

import (
	"io"

	"github.com/cheggaaa/pb/v3"
)

// ReplayBar shows how far a replay has come: a bar on a terminal, else a line
// per contestant.
type ReplayBar struct {
	w        io.Writer
	total    int
	bar      *pb.ProgressBar // nil where w is no terminal
	announce string          // contestant that was shown last
}

// NewReplayBar returns the bar for a trace of total requests.
func NewReplayBar(w io.Writer, total int) *ReplayBar {
	b := &ReplayBar{w: w, total: total}
	if IsTerminal(w) {
		b.bar = newBar(w, total)
	}
	return b
}

// Show is a replay.Progress.
func (b *ReplayBar) Show(contestant string, settled int) {
	if b.bar != nil {
		b.bar.SetCurrent(int64(settled)).Set("what", Printable(contestant))
		b.bar.Write()
	} else if contestant != b.announce {
		Printf(b.w, "replaying with %s\n", contestant)
	}
	b.announce = contestant
}

// Clear takes the bar off the screen.
func (b *ReplayBar) Clear() {
	if b.bar != nil {
		clearLine(b.w)
	}
}
