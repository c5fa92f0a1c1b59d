-- Own ARGV: us, '1' if leases that are lost are to be counted, then leases. Reply: the new end, then per task: 0 not the caller's any
-- more, 1 extended, 2 extended and cancelled.
local exp, lost = now + num(ARGV[7]), 0
local out = {string.format('%.0f', exp)}
for k = 9, #ARGV do
  local r = 0
  if call('ZREM', L, ARGV[k]) == 1 then             -- first: a server without memory lets only scripts go on that have begun to write
    call('ZADD', L, exp, ARGV[k])
    r = call('SISMEMBER', P..':c', string.match(ARGV[k], '^[^\n]*')) == 1 and 2 or 1
  else lost = lost + 1 end
  out[#out+1] = r
end
if lost > 0 and ARGV[8] == '1' then call('HINCRBY', P..':s', 'leaselost', lost) end
if exp < nd then
  nd = exp
  call('HSET', M, 'nd', string.format('%.0f', nd)); wake()
end
return out
