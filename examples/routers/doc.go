// Package firqhttpexamples shows firqhttp with popular routers: chi, Gin and Echo. Its
// tests drive each. Copy what you need. The command noisy measures the price of the
// middleware and its effect: go run ./noisy.
package routers
