package firqfleet

const memberEnv = "FIRQFLEET_MEMBER"

func memberMain() {}
