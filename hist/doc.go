// Package hist keeps HDR histograms of durations: for waiting times, where the tail
// matters and a dozen fixed buckets would hide it.
//
// All histograms of the package have one range, [Lowest, Highest] (1 ns to 1 h),
// and one resolution, 3 significant digits: a quantile is at most 0.1 % above
// the recorded duration it stands for. A duration outside the range is
// clamped to it, never lost. Count, Sum, Mean, Min and Max are exact (after
// clamping).
//
// # Usage
//
// A [Local] is for code that holds a lock anyway, a [Histogram] for many goroutines.
// Both produce a [Snapshot], which has quantiles and can be merged:
//
//	h := hist.New()
//	h.Record(wait)            // from anywhere
//	s := h.Snapshot()
//	s.Quantile(0.999)         // or s.QueueTime() for firq.Stats
//	s.WriteLog(f, "tenant-a", start, length)
//
// # Concurrency properties
//
//	Local.Record, RecordAll, RecordN, AddTo   the caller's lock protects them
//	Histogram.Record               may block, only while every stripe is in use
//	Histogram.Snapshot             may block on one stripe at a time
//	Snapshot                       safe for concurrent reading; Merge is a write
//
// # Memory
//
// The slots are those of HdrHistogram (github.com/HdrHistogram/hdrhistogram-go with the
// same range and digits; a test compares every boundary), so its encoder, which writes
// the logs, accepts them as they are. Only the storage differs. In HdrHistogram a
// histogram of this range is one block of 270 kB, and merging or copying walks all of
// it. In this package each power of two has its own row, 8 kB, allocated when a
// duration first falls into it. So an unused histogram takes about 300 bytes, a typical
// one 50 to 100 kB, and the cost of merging depends on the rows in use. After a row's
// first use, recording allocates nothing.
package hist
