-- Own ARGV: leases. Reply, per task: 0 not the caller's any more, 1 back, 3 cancelled.
local out = {}
for k = 7, #ARGV do
  local r = 0
  if call('ZREM', L, ARGV[k]) == 1 then
    r = leave(string.match(ARGV[k], '^[^\n]*'), false, 0); count('released')
    if gim > 0 then freed = true end
  else count('leaselost') end
  out[#out+1] = r
end
finish()
return out
