// Bank moves money between accounts. Each account is an actor with a balance that no other
// actor touches. Tellers, which are actors too, take from one account and give to another.
//
//	go run ./examples/bank
//
// It is played twice. First an account that sends money calls the one that receives it. Two
// accounts that send to each other at the same time wait for each other: ordinary locks would
// do so forever, but here it is an error, immediately, and the error names the cycle. Then
// tellers stand in between, and there is no cycle. Now and then an account crashes; its
// supervisor starts it again with the balance in the ledger. In the end no money is lost or made.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/firq-go/firq/actor"
)

type bank struct {
	accounts, customers, transfers int
	crash                          int // one in this many receipts crashes the account; 0: none
}

func main() {
	var b bank
	flag.IntVar(&b.accounts, "accounts", 20, "accounts, with 100 each")
	flag.IntVar(&b.customers, "customers", 8, "customers who transfer at the same time")
	flag.IntVar(&b.transfers, "transfers", 2000, "transfers of each customer")
	flag.IntVar(&b.crash, "crash", 200, "one receipt in this many crashes the account; 0: none")
	flag.Parse()
	if err := b.compare(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bank:", err)
		os.Exit(1)
	}
}

func (b bank) compare(ctx context.Context, w io.Writer) error {
	for _, tellers := range []bool{false, true} {
		r, err := b.play(ctx, tellers)
		if err != nil {
			return err
		}
		title := "Accounts call each other"
		if tellers {
			title = "A teller calls both"
		}
		_, err = fmt.Fprintf(w, "%s: %d transfers in %v\n  done %d, no funds %d, would be a deadlock %d, crashed and undone %d\n"+
			"  restarts %d, money before %d, after %d\n",
			title, b.customers*b.transfers, r.took.Round(time.Millisecond), r.done, r.funds, r.deadlocks, r.crashed,
			r.restarts, 100*b.accounts, r.sum)
		if err != nil {
			return err
		}
		if r.example != "" {
			if _, err := fmt.Fprintf(w, "  for example: %s\n", r.example); err != nil {
				return err
			}
		}
	}
	return nil
}

// ledger is what survives a crash; in practice, a database.
type ledger struct {
	mu       sync.Mutex
	balances []int
}

func (l *ledger) get(i int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.balances[i]
}

func (l *ledger) set(i, balance int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.balances[i] = balance
}

// account is the state of an actor: its methods run one at a time.
type account struct {
	number  int
	balance int
	crash   int
	ledger  *ledger
}

var errFunds = errors.New("no funds")

// move takes in or pays out.
func (a *account) move(_ *actor.Ctx, by int) (int, error) {
	if by > 0 && a.crash > 0 && rand.IntN(a.crash) == 0 {
		panic("the account has crashed")
	}
	if a.balance+by < 0 {
		return a.balance, errFunds
	}
	a.balance += by
	a.ledger.set(a.number, a.balance)
	return a.balance, nil
}

type transfer struct {
	from, to actor.Ref[*account]
	amount   int
}

// send is a transfer without a teller: the sender's handler waits for the receiver.
func (a *account) send(c *actor.Ctx, t transfer) (int, error) {
	if _, err := a.move(c, -t.amount); err != nil {
		return a.balance, err
	}
	if _, err := move.Call(c, t.to, t.amount); err != nil {
		a.balance += t.amount
		a.ledger.set(a.number, a.balance)
		return a.balance, fmt.Errorf("transfer: %w", err)
	}
	return a.balance, nil
}

// teller has no state.
type teller struct{}

func (teller) transfer(c *actor.Ctx, t transfer) (int, error) {
	left, err := move.Call(c, t.from, -t.amount)
	if err != nil {
		return left, err
	}
	if _, err := move.Call(c, t.to, t.amount); err != nil {
		for { // giving the money back may crash as well
			if _, undo := move.Call(c, t.from, t.amount); undo == nil {
				return left, fmt.Errorf("transfer: %w", err)
			} else if !errors.Is(undo, actor.ErrPanicked) {
				return left, errors.Join(err, undo)
			}
		}
	}
	return left, nil
}

var (
	move     = actor.NewMethod("Move", (*account).move)
	send     = actor.NewMethod("Send", (*account).send)
	transact = actor.NewMethod("Transfer", teller.transfer)
)

type result struct {
	mu                              sync.Mutex
	done, funds, deadlocks, crashed int
	example                         string
	restarts                        uint64
	sum                             int
	took                            time.Duration
}

func (b bank) play(ctx context.Context, tellers bool) (*result, error) {
	sys, err := actor.New(actor.Config{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = sys.Close() }()
	// A crash concerns one account, however often there is one.
	sup, err := actor.Supervise(sys, "accounts", actor.Supervision{MaxRestarts: 1 << 30, Within: time.Hour})
	if err != nil {
		return nil, err
	}
	book := &ledger{balances: make([]int, b.accounts)}
	var accounts []actor.Ref[*account]
	for i := range b.accounts {
		book.balances[i] = 100
		r, err := actor.Spawn(sup, fmt.Sprintf("account-%d", i), func(*actor.Ctx) (*account, error) {
			return &account{i, book.get(i), b.crash, book}, nil
		})
		if err != nil {
			return nil, err
		}
		accounts = append(accounts, r)
	}
	res, began := &result{}, time.Now()
	var wg sync.WaitGroup
	for range b.customers {
		var counter actor.Ref[teller]
		if tellers {
			if counter, err = actor.Spawn(sys, "", actor.Value(teller{})); err != nil {
				return nil, err
			}
		}
		wg.Go(func() {
			for range b.transfers {
				p := rand.Perm(b.accounts)
				t := transfer{accounts[p[0]], accounts[p[1]], 1 + rand.IntN(50)}
				var err error
				if tellers {
					_, err = transact.Call(ctx, counter, t)
				} else {
					_, err = send.Call(ctx, t.from, t)
				}
				res.note(err)
			}
		})
	}
	wg.Wait()
	res.took = time.Since(began)
	if err := sys.Shutdown(ctx); err != nil {
		return nil, err
	}
	res.restarts = sys.Stats().Restarts
	for _, n := range book.balances {
		res.sum += n
	}
	return res, nil
}

func (r *result) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.done++
	case errors.Is(err, errFunds):
		r.funds++
	case errors.Is(err, actor.ErrDeadlock):
		r.deadlocks++
		r.example = err.Error()
	default:
		r.crashed++
	}
}
