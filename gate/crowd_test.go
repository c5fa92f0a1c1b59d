package gate

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// A burst of invented names, all of which have gone, keeps no tenant out. MaxTenants
// counts those that wait, not those that once did.
func TestInventedTenants(t *testing.T) {
	for _, cfg := range []Config[string]{
		{MaxTenants: 100, TenantIdle: time.Hour},
		{MaxTenants: 100, TenantIdle: time.Hour, MaxInFlightPerTenant: 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := New(1, cfg)
			holder, err := g.Acquire(t.Context(), "holder", Request{})
			if err != nil {
				t.Fatal(err)
			}
			most := cfg.MaxTenants
			if cfg.MaxInFlightPerTenant > 0 {
				most-- // the holder counts
			}
			for range 3 {
				ctx, leave := context.WithCancel(t.Context())
				for i := range most {
					go func() {
						if _, err := g.Acquire(ctx, "invented"+strconv.Itoa(i), Request{}); err == nil {
							t.Error("let in, with the slot taken")
						}
					}()
				}
				synctest.Wait()
				if n := g.Waiting(); n != most {
					t.Fatalf("%d wait, want %d", n, most)
				}
				leave()
				synctest.Wait()
			}
			var honest error
			go func() {
				p, err := g.Acquire(t.Context(), "honest", Request{})
				if honest = err; err == nil {
					p.Release()
				}
			}()
			synctest.Wait()
			if honest != nil || g.Waiting() != 1 {
				t.Fatalf("an honest tenant that has to wait: %v, %d waiting", honest, g.Waiting())
			}
			holder.Release()
			synctest.Wait()
			if g.InUse() != 0 {
				t.Errorf("%d slots in use", g.InUse())
			}
		})
	}
}
