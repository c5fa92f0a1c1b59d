-- Removes what is kept of completed tasks. ARGV: ids. Reply, per id: 1 there was something, 0 there was not.
local K, out = KEYS[1]..':k', {}
for k, id in ipairs(ARGV) do
  out[k] = redis.call('DEL', K..':'..id)
  redis.call('ZREM', K, id)
end
return out
