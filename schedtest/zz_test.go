package schedtest_test
import ("testing";"github.com/firq-go/firq/baseline";"github.com/firq-go/firq/lockfree";"github.com/firq-go/firq/schedtest")
func TestBaseline(t *testing.T){ schedtest.Run(t, baseline.New[string,int]) }
func TestLockfree(t *testing.T){ schedtest.Run(t, lockfree.New[string,int]) }
func TestBaselinePayload(t *testing.T){ schedtest.RunPayload(t, baseline.New[string,*[1<<16]byte]) }
func TestLockfreePayload(t *testing.T){ schedtest.RunPayload(t, lockfree.New[string,*[1<<16]byte]) }
