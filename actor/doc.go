// Package actor runs actors: states with a mailbox, one message at a time, fair by
// processor time, supervised.
package actor
