module github.com/firq-go/firq/contrib/firqotter

go 1.25.0

require (
	github.com/firq-go/firq v0.0.0
	github.com/maypok86/otter/v2 v2.4.0
	go.uber.org/goleak v1.3.0
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/loov/hrtime v1.0.3 // indirect
	github.com/puzpuzpuz/xsync/v3 v3.5.1 // indirect
)

replace github.com/firq-go/firq => ../..
