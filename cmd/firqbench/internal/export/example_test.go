package export_test

import (
	"os"

	"github.com/firq-go/firq/cmd/firqbench/internal/export"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
)

// A file without runs has the head of the table only.
func ExampleWrite() {
	if err := export.Write(os.Stdout, export.CSV, &report.File{Schema: report.Schema}); err != nil {
		panic(err)
	}
	// Output: scenario,contestant,round,producers,consumers,tenants,shards,batch,work,idle,rate,arrivals,gomaxprocs,tasks/s,goodput/s,offered/s,sent/s,enqueue-p50-ns,enqueue-p99-ns,enqueue-p99.9-ns,queue-p50-ns,queue-p95-ns,queue-p99-ns,queue-p99.9-ns,focus-p99-ns,refusal-p50-ns,generator-late-p99-ns,allocs/task,B/task,cpu-ns/task,switches/task,instructions/task,rejected-part,expired-part,jain-index
}
