-- Own ARGV: '1' pauses the partition, '' resumes it.
if ARGV[7] == '' then call('HDEL', M, 'pz'); wake() else call('HSET', M, 'pz', 1) end
return 1
