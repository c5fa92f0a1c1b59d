package schedtest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/firq-go/firq"
)

// golden returns a check that plays a script on a scheduler with cfg and one shard, whose order is exact. The
// words of a script are
//
//	a*3       tenant a enqueues three tasks of cost 1, with payloads 1 to 3
//	a:5,2     tasks of these costs, with payloads from 1
//	a!5,2     tasks of these priorities, with payloads from 1
//	a+7       a task with payload 7
//	a1        the next item is tenant a's payload 1
//	-         nothing is deliverable
//
// A bar is for the eye only. At the end nothing may be deliverable, unless the last word is "...".
func golden(cfg config, script string) func(*testing.T, maker) {
	cfg.Shards = 1
	return func(t *testing.T, newSched maker) {
		s := open(t, newSched, cfg)
		words := strings.Fields(script)
		for i, word := range words {
			at := strings.IndexAny(word, "*:!+")
			switch {
			case word == "|" || word == "...":
				continue
			case word == "-":
				idle(t, s)
				continue
			case at < 0:
				same(t, "after "+strings.Join(words[:i], " "), next(t, s, 1), word)
				continue
			}
			for k, number := range strings.Split(word[at+1:], ",") {
				n, err := strconv.ParseInt(number, 10, 64)
				if err != nil {
					t.Fatalf("script %q: %v", word, err)
				}
				switch tenant, tk := word[:at], (task{Payload: k + 1}); word[at] {
				case '*':
					load(t, s, tenant, int(n))
				case ':':
					tk.Cost = n
					admit(t, s, tenant, tk)
				case '!':
					tk.Priority = firq.Priority(n)
					admit(t, s, tenant, tk)
				case '+':
					admit(t, s, tenant, task{Payload: int(n)})
				}
			}
		}
		if words[len(words)-1] != "..." {
			idle(t, s)
		}
	}
}
