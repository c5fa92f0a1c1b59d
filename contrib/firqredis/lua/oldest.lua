-- Own ARGV: tenants. Reply, per tenant: queued, delayed, in flight, dead letters, enqueued, delivered, since when its oldest queued
-- task is due (0: none), weight, paused, settings (weight, MaxQueued, MaxInFlight, rate), until when its rate holds it (0: it does not); nothing for one that is not known.
-- Strict priorities are apart in the order, and each begins with its oldest task. Ageing mixes them: then the oldest is looked for
-- among the first hundred of one tenant, and among the first ten of each of several.
local out, some = {string.format('%.0f', now)}, #ARGV > 7 and 10 or 100

local function number(s) return num(s) or num((string.gsub(s, 'e', '.0e'))) end -- miniredis cannot read 1e+8

local function strictly(score)                      -- when a task was first due, and its priority
  if score < -1e15 then return score + 6e15, 6 end
  local p = math.floor((now + aging / 2 - score) / aging) + 1
  return score + (p - 1) * aging, p
end

for k = 7, #ARGV do
  local key, q = P..':t:'..ARGV[k], P..':n:'..ARGV[k]
  local h, dead = call('HMGET', key, 'i', 'z', 'e', 'd', 'w', 'wd', 'pz', 'qm', 'im', 'rl'), call('ZCARD', P..':x:'..ARGV[k])
  local n, oldest = call('ZCARD', q), 0
  if n > 0 and aging >= 3e14 then
    local first, p = strictly(number(call('ZRANGE', q, 0, 0, 'WITHSCORES')[2]))
    local _, least = strictly(number(call('ZRANGE', q, -1, -1, 'WITHSCORES')[2]))
    oldest = first
    for p = p - 1, least, -1 do
      local low = now - aging / 2 - (p - 1) * aging
      local r = call('ZRANGEBYSCORE', q, string.format('%.0f', low), '('..string.format('%.0f', low + aging), 'WITHSCORES', 'LIMIT', 0, 1)
      if r[2] then oldest = math.min(oldest, (strictly(number(r[2])))) end
    end
  elseif n > 0 then
    for _, body in ipairs(call('HMGET', D, unpack(call('ZRANGE', q, 0, some - 1)))) do
      if body then
        local at, more = string.match(body, '^([0-9a-f]+)([^:]*)')
        local due = num(string.sub(at, 1, -9), 16) * 4294967296 + num(string.sub(at, -8), 16) + num(string.match(more, 'W(%d+)') or 0)
        if oldest == 0 or due < oldest then oldest = due end
      end
    end
  end
  local known = dead > 0
  for j = 1, 10 do known = known or h[j] end
  out[#out+1] = not known and {} or {n, num(h[2] or 0), num(h[1] or 0), dead, num(h[3] or 0), num(h[4] or 0),
    string.format('%.0f', oldest), h[5] or h[6] or '', h[7] == '1' and 1 or 0, h[5] or '', h[8] or '', h[9] or '',
    h[10] or '', h[7] == 'r' and string.format('%.0f', number(call('ZSCORE', P..':h', ARGV[k]) or '0')) or 0}
end
return out
