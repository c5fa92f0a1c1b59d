module github.com/firq-go/firq/benchmarks/compute

go 1.25.0

require (
	github.com/firq-go/firq v0.0.0
	github.com/firq-go/firq/contrib/firqotter v0.0.0
	github.com/golang/groupcache v0.0.0-20241129210726-2c02b8208cf8
	github.com/maypok86/otter/v2 v2.4.0
	github.com/urfave/cli/v3 v3.14.0
	go.uber.org/goleak v1.3.0
	golang.org/x/sync v0.22.0
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/VividCortex/ewma v1.2.0 // indirect
	github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
	github.com/cheggaaa/pb/v3 v3.2.1 // indirect
	github.com/clipperhouse/uax29/v2 v2.2.0 // indirect
	github.com/fatih/color v1.19.0 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/jedib0t/go-pretty/v6 v6.8.3 // indirect
	github.com/loov/hrtime v1.0.3 // indirect
	github.com/mattn/go-colorable v0.1.15 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/mattn/go-runewidth v0.0.27 // indirect
	github.com/puzpuzpuz/xsync/v3 v3.5.1 // indirect
	golang.org/x/perf v0.0.0-20260709024250-82a0b07e230d // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/term v0.29.0 // indirect
	golang.org/x/text v0.40.0 // indirect
	google.golang.org/protobuf v1.33.0 // indirect
)

replace github.com/firq-go/firq => ../..

replace github.com/firq-go/firq/contrib/firqotter => ../../contrib/firqotter
