package status

import (
	"context"
	_ "embed" // tasks.html
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

//go:embed tasks.html
var tasksSource string

// task is a task on a page.
type task struct {
	queue.Info[json.RawMessage]
	Page *content
}

// Cancels reports whether it has not ended.
func (t *task) Cancels() bool { return !t.Dead() && !t.Completed() }

// Dead reports whether it is a dead letter.
func (t *task) Dead() bool { return t.State == queue.StateDead }

// Completed reports whether it is done, and kept.
func (t *task) Completed() bool { return t.State == queue.StateCompleted }

// At returns the time that belongs to its state.
func (t *task) At() time.Time {
	switch t.State {
	case queue.StateInFlight:
		return t.LeaseUntil
	case queue.StateDead:
		return t.DiedAt
	case queue.StateCompleted:
		return t.KeptUntil
	}
	return t.Due
}

// times are the names of these times.
var times = map[queue.State]string{
	queue.StateQueued: "Due since", queue.StateDelayed: "Due", queue.StateInFlight: "Lease ends", queue.StateDead: "Died", queue.StateCompleted: "Kept until",
}

// States are those of tasks.
func (c *content) States() []queue.State {
	return []queue.State{queue.StateQueued, queue.StateDelayed, queue.StateInFlight, queue.StateDead, queue.StateCompleted}
}

// Times is the name of the time that belongs to the page's tasks.
func (c *content) Times() string { return times[c.State] }

// tasksShown is how many tasks a page lists.
const tasksShown = 50

// find reads which tasks a page or a form is about.
func (c *content) find(q url.Values) error {
	c.State, c.Of = queue.StateQueued, q.Get("tenant")
	if text := q.Get("state"); text != "" {
		return c.State.UnmarshalText([]byte(text))
	}
	return nil
}

func (p *pages) tasks(ctx context.Context, c *content, q url.Values) (string, error) {
	err := c.find(q)
	if err != nil {
		return "tasks-page", err
	}
	page, next, err := p.Queue.List(ctx, queue.Listing{State: c.State, Tenant: c.Of, Cursor: q.Get("cursor"), Limit: tasksShown})
	for _, i := range page {
		c.List = append(c.List, &task{i, c})
	}
	c.Next = next
	return "tasks-page", err
}

func (p *pages) task(ctx context.Context, c *content, q url.Values) (string, error) {
	i, err := p.Queue.Get(ctx, q.Get("id"))
	c.State = queue.StateQueued
	if err == nil {
		c.State, c.Task = i.State, &task{i, c}
	}
	return "task-page", err
}

// codeOf returns the status of a page that shows an error.
func codeOf(err error) int {
	switch {
	case errors.Is(err, queue.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, firq.ErrInvalidArgument):
		return http.StatusBadRequest
	}
	return http.StatusServiceUnavailable
}

// text returns a payload or a result as the page shows it.
func text(b []byte) string {
	if !utf8.Valid(b) {
		return strconv.Quote(cut(string(b), mostText))
	}
	return cut(string(b), mostText)
}

const mostText = 100_000
