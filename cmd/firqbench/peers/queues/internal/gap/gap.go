// Package gap computes the largest difference of service between two tenants.
package gap

// Worst returns the largest difference, over all intervals and pairs, of what was served, and the largest one as a
// share of its bound. served has, after each delivery, the first entry before all of them, what each tenant has got in cost
// per weight; most has the cost per weight of each one's most expensive task. The bound of a pair is the sum of theirs.
func Worst(served [][]float64, most []float64) (gap, share float64) {
	for i := range most {
		for j := range i {
			// The difference over an interval is that at its end less that at its start; so the largest is the highest
			// value less the lowest, in whatever order they come.
			low, high := 0.0, 0.0
			for _, now := range served {
				d := now[i] - now[j] - (served[0][i] - served[0][j])
				low, high = min(low, d), max(high, d)
			}
			gap = max(gap, high-low)
			share = max(share, (high-low)/(most[i]+most[j]))
		}
	}
	return gap, share
}
