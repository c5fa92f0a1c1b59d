module github.com/firq-go/firq

go 1.25.0
