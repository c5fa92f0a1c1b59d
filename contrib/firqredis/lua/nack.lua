-- Own ARGV, per task: lease, us until it is queued again, reason, "dead" or "". Reply, per task: 0 not the caller's any more,
-- 1 again, 2 dead, 3 cancelled.
local out = {}
for k = 7, #ARGV, 4 do
  local r = 0
  if call('ZREM', L, ARGV[k]) == 1 then
    r = leave(string.match(ARGV[k], '^[^\n]*'), true, num(ARGV[k+1]), ARGV[k+2], ARGV[k+3] == 'dead'); count('nacked')
    if gim > 0 then freed = true end
  else count('leaselost') end
  out[#out+1] = r
end
finish()
return out
