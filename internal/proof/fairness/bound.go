package fairness

import "fmt"

// Law is what a log is held against.
type Law struct {
	Slack  int   // FairnessSlack
	Within int64 // by how many turns one tenant may be ahead of another one of its shard
	Across int64 // and of one on another shard
	Holds  int64 // what holds in progress add to what is stated across shards
}

// Proved returns the bounds that docs/fairness.md states: theorems 1 and 2. A
// turn is a quantum's worth; what costly tasks and newcomers add is in bound.
func Proved(slack int) Law {
	return Law{Slack: slack, Within: 1, Across: int64(slack) + 2}
}

// bound is turns + (C_i-1)/q_i + (C_j-1)/q_j, times q_i*q_j; C is a tenant's
// costliest task.
func (l Law) bound(a, b Tenant) int64 {
	turns := l.Within
	if a.Shard != b.Shard {
		turns = l.Across + late(a, b)
	}
	return turns*a.Quantum*b.Quantum + (a.Costliest-1)*b.Quantum + (b.Costliest-1)*a.Quantum
}

// stated is the bound that docs/design/shards.md states, in the same unit: 1 + C/q_i +
// C/q_j, and slack+1 more across shards; C is the costliest task of all. For
// newcomers it is one more there too, and holds in progress come on top.
func (l Law) stated(a, b Tenant, costliest int64) int64 {
	turns := int64(1)
	if a.Shard != b.Shard {
		turns += int64(l.Slack) + 1 + late(a, b) + l.Holds
	}
	return turns*a.Quantum*b.Quantum + costliest*b.Quantum + costliest*a.Quantum
}

// late is 1 if one of them came later: its first turn is in the round after the
// one that it came in.
func late(a, b Tenant) int64 {
	if a.Newcomer || b.Newcomer {
		return 1
	}
	return 0
}

// Verdict is what was found about some of the pairs.
type Verdict struct {
	Pairs  int
	Proved Nearest // to what is proved
	Stated Nearest // to what is stated
}

// Nearest is the pair that came nearest to its bound, or went furthest beyond it. Gap and
// Bound are in rounds and rounded, for display; the comparison is exact.
type Nearest struct {
	Gap, Bound float64
	Over       int // pairs beyond their bounds
	a, b       Tenant
}

// Judge holds all pairs against the law: those that share a shard, and those that
// do not.
func (g *Gaps) Judge(l Law) (within, across Verdict) {
	costliest := int64(0)
	for _, t := range g.tenants {
		costliest = max(costliest, t.Costliest)
	}
	for i, a := range g.tenants {
		for j, b := range g.tenants[:i] {
			if a.Tasks == 0 || b.Tasks == 0 {
				continue
			}
			v := &across
			if a.Shard == b.Shard {
				v = &within
			}
			v.Pairs++
			v.Proved.add(a, b, g.Gap(i, j), l.bound(a, b))
			v.Stated.add(a, b, g.Gap(i, j), l.stated(a, b, costliest))
		}
	}
	return within, across
}

func (n *Nearest) add(a, b Tenant, gap, bound int64) {
	if gap > bound {
		n.Over++
	}
	unit := float64(a.Quantum * b.Quantum)
	x, y := float64(gap)/unit, float64(bound)/unit
	if n.Bound == 0 || x/y > n.Gap/n.Bound {
		n.Gap, n.Bound, n.a, n.b = x, y, a, b
	}
}

// String returns gap and bound, as in the tables of docs/fairness.md.
func (n Nearest) String() string {
	if n.Bound == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f / %.2f", n.Gap, n.Bound)
}

// Check returns an error if some pair is beyond what is proved.
func (v Verdict) Check() error {
	if p := v.Proved; p.Over > 0 {
		return fmt.Errorf("%d of %d pairs are beyond the bound; the worst is %.3f rounds apart, the bound is %.3f: %+v and %+v",
			p.Over, v.Pairs, p.Gap, p.Bound, p.a, p.b)
	}
	return nil
}
