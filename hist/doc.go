// Package hist keeps HDR histograms of durations: for waiting times, where the
// tail is what matters and a dozen fixed buckets would hide it.
//
// All histograms of the package have one range, [Lowest, Highest] (1 ns to 1 h),
// and one resolution, 3 significant digits: a quantile is at most 0.1 % above
// the recorded duration it stands for. A duration outside the range is
// clamped to it, never lost. Count, Sum, Mean, Min and Max are exact (after
// clamping).
//
// # Usage
//
// A [Local] is for code that holds a lock anyway; a [Histogram] is for many
// goroutines; both end in a [Snapshot], which answers questions and merges:
//
//	h := hist.New()
//	h.Record(wait)            // from anywhere
//	s := h.Snapshot()
//	s.Quantile(0.999)         // or s.QueueTime() for firq.Stats
//	s.WriteLog(f, "tenant-a", start, length)
//
// # Concurrency properties
//
//	Local.Record, RecordN, AddTo   the caller's lock protects them
//	Histogram.Record               may block, only while every stripe is in use
//	Histogram.Snapshot             may block on one stripe at a time
//	Snapshot                       safe for concurrent reading; Merge is a write
//
// # Memory
//
// The slots are those of HdrHistogram (github.com/HdrHistogram/hdrhistogram-go
// with the same range and digits; a test compares every boundary), so that its
// encoder, which writes the logs, takes them as they are. What differs is the
// storage. There a histogram of this range is one block of 270 kB, and merging
// or copying walks all of it. Here each power of two has a row of its own, 8 kB,
// allocated when a duration first falls into it: an unused histogram costs about
// 300 bytes, a typical one 50 to 100 kB, and merging costs as much as is used.
// After that first time nothing is allocated.
package hist
