-- Brings in what is due, and tenants whose rate lets them go on, takes back what was leased for too long, and drops old dead letters. ARGV after those of common.lua: how
-- many of each at most, those first that have been due for longest.
local most, some = num(ARGV[7]), 0
for _, id in ipairs(call('ZRANGEBYSCORE', Z, '-inf', now, 'LIMIT', 0, most)) do
  local body = call('HGET', D, id)
  call('ZREM', Z, id)
  if body then
    local x = parse(body)
    local t = tenant(x.name)
    t.z = t.z - 1; enter(t, id, x); place(t); some = some + 1
  end
end
for _, lease in ipairs(call('ZRANGEBYSCORE', L, '-inf', now, 'LIMIT', 0, most)) do
  local id = string.match(lease, '^[^\n]*')
  call('ZREM', L, lease); count('leaseexpired'); leave(id, true, 0, 'lease ran out'); some = some + 1
end
for _, name in ipairs(call('ZRANGEBYSCORE', P..':h', '-inf', now, 'LIMIT', 0, most)) do
  call('ZREM', P..':h', name); place(tenant(name)); some = some + 1
end
if deadFor >= 0 then
  for _, id in ipairs(call('ZRANGEBYSCORE', X, '-inf', now - deadFor, 'LIMIT', 0, most)) do
    if remove(id) then count('purged') end
    some = some + 1
  end
end
local a, b, h, c = call('ZRANGE', Z, 0, 0, 'WITHSCORES'), call('ZRANGE', L, 0, 0, 'WITHSCORES'), call('ZRANGE', P..':h', 0, 0, 'WITHSCORES'), {}
if deadFor >= 0 then c = call('ZRANGE', X, 0, 0, 'WITHSCORES') end
nd = math.min(num(a[2] or 9e15), num(b[2] or 9e15), num(h[2] or 9e15), c[2] and num(c[2]) + deadFor or 9e15)
