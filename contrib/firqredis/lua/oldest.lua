-- Own ARGV: tenants. Reply, per tenant: queued, delayed, in flight, dead letters, enqueued, delivered, since when its oldest queued
-- task is due (0: none), weight, paused, settings (weight, MaxQueued, MaxInFlight), the weight by default.
-- With ageing, which mixes priorities, the oldest is looked for among the first hundred.
local out = {string.format('%.0f', now)}
for k = 7, #ARGV do
  local key, q = P..':t:'..ARGV[k], P..':n:'..ARGV[k]
  local h = call('HMGET', key, 'i', 'z', 'e', 'd', 'w', 'wd', 'pz', 'qm', 'im')
  local ids, oldest = {}, 0
  if aging < 3e14 then ids = call('ZRANGE', q, 0, 99)
  else
    for p = 1, 6 do
      local low = now - aging / 2 - (p == 6 and 6e15 or (p - 1) * aging)
      local high = low + aging
      local r = call('ZRANGEBYSCORE', q, string.format('%.0f', low), '('..string.format('%.0f', high), 'LIMIT', 0, 1)
      if r[1] then ids[#ids+1] = r[1] end
    end
  end
  for _, id in ipairs(ids) do
    local body = call('HGET', D, id)
    if body then
      local due = parse(body).due
      if oldest == 0 or due < oldest then oldest = due end
    end
  end
  out[#out+1] = {call('ZCARD', q), num(h[2] or 0), num(h[1] or 0), call('ZCARD', P..':x:'..ARGV[k]), num(h[3] or 0), num(h[4] or 0),
    string.format('%.0f', oldest), h[5] or h[6] or '', h[7] and 1 or 0, h[5] or '', h[8] or '', h[9] or ''}
end
return out
