package firqredis

// workerEnv is set in processes that are workers of the fault tests.
const workerEnv = "FIRQREDIS_TEST_WORKER"

func workerMain() {}
