-- Gives a wake-up back that nobody here can use.
wake()
return 1
