package gap

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestWorst(t *testing.T) {
	for _, c := range []struct {
		order      []int // which tenant was served, a cost of 1 each
		gap, share float64
	}{
		{nil, 0, 0},
		{[]int{0, 1, 0, 1}, 1, 0.5},
		{[]int{0, 1, 1, 0}, 2, 1},
		{[]int{1, 1, 1, 0, 0, 0}, 3, 1.5},
	} {
		served := [][]float64{{0, 0}}
		for _, who := range c.order {
			now := [2]float64{served[len(served)-1][0], served[len(served)-1][1]}
			now[who]++
			served = append(served, now[:])
		}
		if gap, share := Worst(served, []float64{1, 1}); gap != c.gap || share != c.share {
			t.Errorf("%v: %v, %v, want %v, %v", c.order, gap, share, c.gap, c.share)
		}
	}
}

// The same as looking at every interval.
func TestWorstIsOfAllIntervals(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		most := []float64{1, 2, 3}
		served := [][]float64{{0, 0, 0}}
		for range 40 {
			now := append([]float64(nil), served[len(served)-1]...)
			who := r.IntN(3)
			now[who] += r.Float64() * most[who]
			served = append(served, now)
		}
		want := 0.0
		for a := range served {
			for b := a; b < len(served); b++ {
				for i := range most {
					for j := range most {
						want = max(want, (served[b][i]-served[a][i])-(served[b][j]-served[a][j]))
					}
				}
			}
		}
		if got, _ := Worst(served, most); math.Abs(got-want) > 1e-9 {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}
