// Package firqhttpexamples shows firqhttp with the routers that people use: chi,
// Gin and Echo; its tests drive each. Copy what you need. The command noisy
// measures what the middleware costs, and what it buys: go run ./noisy.
package firqhttpexamples
