-- Is ack where some tasks are kept. ARGV as there, and per task two more: for how many us it is kept (0: it is not), its result.
-- What is kept has a key of its own, which ends by itself, and a place in a set; whoever adds to that takes out those that have ended.
local given, ARGV = ARGV, {ARGV[1], ARGV[2], ARGV[3]}
local K, keeps, tm = KEYS[1]..':k', {}, redis.call('TIME')
local at = tm[1] * 1000000 + tm[2]
for k = 4, #given, 7 do
  for i = 0, 4 do ARGV[#ARGV+1] = given[k+i] end
  keeps[#keeps+1] = {us = tonumber(given[k+5]), result = given[k+6]}
end
local function keep(id, us, result)
  local body, ms = us > 0 and redis.call('HGET', KEYS[1]..':d', id), math.ceil(us / 1000)
  if not body then return end
  redis.call('SET', K..':'..id, string.format('%.0f,%.0f,%d:', at, at + us, #result)..result..body, 'PX', string.format('%.0f', ms))
  redis.call('ZADD', K, at + us, id)
  if redis.call('PTTL', K) < ms then redis.call('PEXPIRE', K, string.format('%.0f', ms)) end
end
redis.call('ZREM', K, '', unpack(redis.call('ZRANGEBYSCORE', K, '-inf', at, 'LIMIT', 0, 2 * #keeps))) -- '': see common.lua, wake
--ACK--
