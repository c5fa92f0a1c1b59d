-- Delivers tasks. ARGV: version, n, lease us, the tenants' MaxInFlight, TenantIdle ms, the partition's MaxInFlight, the virtual
-- time of the other partitions or -1 if the caller does not know it, how many names follow, names, and then patterns. With neither
-- names nor patterns: from everybody; else from the named first, then from those that match.
-- Reply: next due us or -1, ready tenants, virtual time, the same before this call, now us, then per task: id, token, body.
local P, call, num = KEYS[1], redis.call, tonumber
local M, R, D, L = P..':m', P..':r', P..':d', P..':l'
local tm, m = call('TIME'), call('HMGET', M, 'v', 'hlc', 'nd', 'pz', 'ver', 'd', 'o', 'idle', 'hs')
if num(m[5] or 0) > num(ARGV[1]) then return redis.error_reply('FIRQVERSION '..m[5]) end
local now, v, hlc, nd = tm[1] * 1000000 + tm[2], num(m[1] or 0), num(m[2] or 0), num(m[3] or 9e15)
if hlc < now then hlc = now end
local n, dim, gim, names, exp = num(ARGV[2]), num(ARGV[4]), num(ARGV[6]), num(ARGV[8]), now + num(ARGV[3])
local some, tags, matches = #ARGV > 8, {}, nil
if some then
  for k = 9, 8 + names, 1000 do
    local last = math.min(k + 999, 8 + names)
    for j, tag in ipairs(call('ZMSCORE', R, unpack(ARGV, k, last))) do tags[k+j-1] = tag and (num(tag) or num((string.gsub(tag, 'e', '.0e')))) end
  end
  matches = function(name, glob)                    -- each piece as early as possible: no way back
    local at = 1
    for piece in string.gmatch(glob, '[^\n]+') do
      local _, to = string.find(name, piece, at)
      if not to then return false end
      at = to + 1
    end
    return true
  end
end
local v0, T, H, ls, none, out, got, expired, looked, waited = v, {}, {}, {}, {}, {0, 0, 0, 0, 0}, 0, 0, 0, 0
if m[4] then n = 0 elseif gim > 0 then n = math.min(n, gim - call('ZCARD', L)) end
while got < n and looked < n + 100 do
  looked = looked + 1
  local name, s, own
  local first = call('ZRANGE', R, 0, 0, 'WITHSCORES')
  if not first[1] then break end
  local least = num(first[2]) or num((string.gsub(first[2], 'e', '.0e'))) -- miniredis cannot read 1e+8
  if least > v then v = least end                   -- the least tag, also if another one is taken
  if not some then name, s = first[1], least
  else
    for k = 9, 8 + names do
      if tags[k] and (not s or tags[k] < s) then name, s, own = ARGV[k], tags[k], k end
    end
    local from = 0
    while not name and #ARGV > 8 + names do
      local r = call('ZRANGE', R, from, from + 511, 'WITHSCORES')
      for k = 1, #r, 2 do
        for j = 9 + names, #ARGV do
          if matches(r[k], ARGV[j]) then name, s = r[k], num(r[k+1]) or num((string.gsub(r[k+1], 'e', '.0e'))); break end
        end
        if name then break end
      end
      from = from + 512
      if #r < 1024 then break end
    end
    if not name then break end
  end
  local t = T[name]
  if not t then
    local h = call('HMGET', P..':t:'..name, 'i', 'w', 'wd', 'im', 'd', 'z', 'k')
    t = {q = P..':n:'..name, i = num(h[1] or 0), w = num(h[2] or h[3] or 1), im = num(h[4] or dim), c = num(h[5] or 0),
      z = num(h[6] or 0), keep = h[7], f = s}
    t.n = call('ZCARD', t.q)
    T[name] = t
  end
  -- A client with other limits may have put a tenant that is at its limit here back among those that are ready.
  local id = (t.im == 0 or t.i < t.im) and call('ZPOPMIN', t.q)[1]
  if id then t.n = t.n - 1 end
  local body = id and call('HGET', D, id)
  if body then
    local at, more, F = string.match(body, '^([0-9a-f]+)([^:]*)') -- stored.go has the format
    if more ~= '' then
      F = {}
      for k, value in string.gmatch(more, '(%u)(%d+)') do F[k] = value end
    else F = none end
    if F.L and num(F.L) <= now then
      call('HDEL', D, id); expired = expired + 1
      if F.K == '1' then
        local u = P..':u:'..name..'\n'..string.match(body, '\n([^\n]*)')
        if call('GET', u) == id then call('DEL', u) end
      end
    else
      hlc = hlc + 1; got = got + 1
      local token, o = string.format('%.0f', hlc), 3 * got + 3
      local was, cost = s, F.C or 1
      s = s + math.min(cost / t.w, 1e15)
      if s == was and cost ~= '0' then s = was * (1 + 2.3e-16) end -- a tag so great that the cost is lost: still, others come first
      t.f = s; t.i = t.i + 1; t.c = t.c + 1
      ls[2*got-1], ls[2*got] = exp, id..'\n'..token..'\n'..name -- the lease: who can name it holds it
      out[o], out[o+1], out[o+2] = id, token, body
      if not F.A then                                 -- how long it has been due: bucket b is up to 2^b ms
        local seq = num(string.sub(at, 1, -9), 16) * 4294967296 + num(string.sub(at, -8), 16)
        local wait = math.max(now - seq - (F.W or 0), 0)
        local _, b = math.frexp((wait - 0.5) / 1000)
        b = b < 0 and 0 or b > 31 and 31 or b
        H[b] = (H[b] or 0) + 1; waited = waited + wait
      end
    end
  end
  local on = t.n > 0 and (t.im == 0 or t.i < t.im)
  if on then call('ZADD', R, string.format('%.17g', s), name) else call('ZREM', R, name) end
  if own then tags[own] = on and s end
end
if got > 0 then
  for k = 1, 2 * got, 200 do call('ZADD', L, unpack(ls, k, math.min(k + 199, 2 * got))) end
  if exp < nd then nd = exp end
  for b, by in pairs(H) do call('HINCRBY', P..':s', 'h'..b, by) end
end
if expired > 0 then call('HINCRBY', P..':s', 'expired', expired) end
local ready = call('ZCARD', R)
-- A partition that was idle comes back to the virtual time of the others, when a caller comes who knows it. It is its clock that
-- is set forward, and not the tags of those that have come since.
local others, ahead, idle = num(ARGV[7]), num(m[7] or 0), '0'
if looked > 0 and m[8] ~= '0' then ahead = math.max(ahead, others - v0) end
if ready == 0 or others < 0 and m[8] ~= '0' then idle = '1' end
if looked > 0 then
  for name, t in pairs(T) do
    local key = P..':t:'..name
    call('HSET', key, 'f', string.format('%.17g', t.f), 'i', t.i, 'd', t.c)
    if t.n <= 0 and t.i == 0 and t.z == 0 then      -- all that it had has expired
      call('SREM', P..':a', name)
      if not t.keep then call('PEXPIRE', key, ARGV[5]) end
    end
  end
  call('HSET', M, 'v', string.format('%.17g', v), 'hlc', string.format('%.0f', hlc), 'nd', string.format('%.0f', nd), 'd', num(m[6] or 0) + got,
    'o', string.format('%.17g', ahead), 'b', string.format('%.17g', v0 + ahead), 'idle', idle, 'hs', string.format('%.0f', num(m[9] or 0) + waited))
end
-- Who takes something and sees more wakes the next; so does who can take only some of it.
if ready > 0 and (got > 0 or looked > 0) and not (gim > 0 and call('ZCARD', L) >= gim) and call('LLEN', P..':w') == 0 then
  call('RPUSH', P..':w', '1')
end
out[1], out[2] = nd == 9e15 and '-1' or string.format('%.0f', nd), ready
out[3], out[4], out[5] = string.format('%.17g', v + ahead), string.format('%.17g', v0 + ahead), string.format('%.0f', now)
return out
