-- Own ARGV, per task: lease, us until it is queued again, reason, "dead" or "", cost correction. Reply, per task: 0 not the caller's
-- any more, 1 again, 2 dead, 3 cancelled.
local out = {}
for k = 7, #ARGV, 5 do
  local r = 0
  if call('ZREM', L, ARGV[k]) == 1 then
    if ARGV[k+4] ~= '0' then                        -- before leave, which places the tenant
      local t = tenant(string.match(ARGV[k], '[^\n]*$'))
      t.f = t.f + math.max(-1e15, math.min(num(ARGV[k+4]) / t.w, 1e15))
      if call('EXISTS', P..':b:'..t.name) == 1 then
--BUCKET--
        correct(t.name, num(ARGV[k+4]))
      end
    end
    r = leave(string.match(ARGV[k], '^[^\n]*'), true, num(ARGV[k+1]), ARGV[k+2], ARGV[k+3] == 'dead'); count('nacked')
    if gim > 0 then freed = true end
  else count('leaselost') end
  out[#out+1] = r
end
finish()
return out
