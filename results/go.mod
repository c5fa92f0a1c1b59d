// This file keeps the measured results out of what a program that requires firq downloads.
module github.com/firq-go/firq/results

go 1.25.0
