-- Delivers tasks, after what is due was brought in, so that it takes part in the order. ARGV: as common.lua has them; how many that
-- are due of each kind at most; version, n, lease us, bytes after which no more are delivered, the virtual time of the other
-- partitions or -1 if the caller does not know it, the rank from which those that match are looked for, how many names follow,
-- the tenants' rate, names, and then patterns. With neither names nor patterns: from everybody; else from the named first, then from those that match.
-- Reply: next due us or -1, ready tenants, virtual time, the same before this call, now us, the rank from which more may match or
-- -1, then per task: id, token, body.
local P, call, num = KEYS[1], redis.call, tonumber
local M, R, D, L = P..':m', P..':r', P..':d', P..':l'
local tm, m = call('TIME'), call('HMGET', M, 'v', 'hlc', 'nd', 'pz', 'ver', 'd', 'o', 'idle', 'hs', 'rl')
if num(m[5] or 0) > num(ARGV[8]) then return redis.error_reply('FIRQVERSION '..m[5]) end
local now = tm[1] * 1000000 + tm[2]
if num(m[3] or 9e15) <= now then
  (function()                                       -- what it defines would cost each call
--COMMON--
--DUE--
    freed = false; finish(true)                     -- a process that takes some wakes the next, below
  end)()
  m = call('HMGET', M, 'v', 'hlc', 'nd', 'pz', 'ver', 'd', 'o', 'idle', 'hs', 'rl')
end
local v, hlc, nd = num(m[1] or 0), num(m[2] or 0), num(m[3] or 9e15)
if hlc < now then hlc = now end
local n, dim, gim, names, exp, bytes = num(ARGV[9]), num(ARGV[2]), num(ARGV[6]), num(ARGV[14]), now + num(ARGV[10]), num(ARGV[11])
local some, rank, choose, moved = #ARGV > 15, num(ARGV[13]), nil, nil
if some then
  -- Those to choose from are in a heap, as {1 named or 2 matching, tag, name}. The ones that match come into it in their order, as
  -- far as it takes: rank is up to where, and edge the last tag and name before it.
  local heap, size, globs, seen, looked, whole, edge, last = {}, 0, {}, {}, 0, #ARGV == 15 + names, nil, nil
  local function number(tag) return num(tag) or num((string.gsub(tag, 'e', '.0e'))) end -- miniredis cannot read 1e+8
  local function before(a, b) return a[1] < b[1] or a[1] == b[1] and (a[2] < b[2] or a[2] == b[2] and a[3] < b[3]) end
  local function put(x)
    size = size + 1
    local i = size
    while i > 1 and before(x, heap[math.floor(i / 2)]) do
      local up = math.floor(i / 2)
      heap[i], i = heap[up], up
    end
    heap[i] = x
  end
  local function least()
    local top, x, i = heap[1], heap[size], 1
    heap[size] = nil; size = size - 1
    while 2 * i <= size do
      local c = 2 * i
      if c < size and before(heap[c+1], heap[c]) then c = c + 1 end
      if not before(heap[c], x) then break end
      heap[i], i = heap[c], c
    end
    if size > 0 then heap[i] = x end
    return top
  end
  for k = 16 + names, #ARGV do
    local pieces = {}
    for piece in string.gmatch(ARGV[k], '[^\n]+') do pieces[#pieces+1] = piece end
    globs[#globs+1] = pieces
  end
  local function matches(name)
    for g = 1, #globs do
      local pieces, at = globs[g], 1
      for k = 1, #pieces do                         -- each as early as possible: no way back
        local _, to = string.find(name, pieces[k], at)
        at = to and to + 1
        if not at then break end
      end
      if at then return true end
    end
  end
  local function within(tag, name) return edge and (tag < edge or tag == edge and name <= last) end
  local function sure() return size > 0 and (heap[1][1] == 1 or whole or within(heap[1][2], heap[1][3])) end
  choose = function()
    while not whole and looked < 5000 and not sure() do
      local r = call('ZRANGE', R, rank, rank + 499)
      for _, name in ipairs(r) do
        if not seen[name] and matches(name) then
          seen[name] = true; put({2, number(call('ZSCORE', R, name)), name})
        end
      end
      rank, looked, whole = rank + #r, looked + #r, #r < 500
      if not whole then last = r[500]; edge = number(call('ZSCORE', R, last)) end
    end
    if sure() then return least() end
    if whole then rank = -1 end
  end
  moved = function(x, on, s)                        -- one that was before the rank, and is behind it now
    if within(x[2], x[3]) and not (on and within(s, x[3])) then rank = rank - 1 end
    if on then x[2] = s; put(x) end
  end
  for k = 16, 15 + names, 1000 do
    for j, tag in ipairs(call('ZMSCORE', R, unpack(ARGV, k, math.min(k + 999, 15 + names)))) do
      if tag then put({1, number(tag), ARGV[k+j-1]}) end
      seen[ARGV[k+j-1]] = true
    end
  end
end
local holds, charge                                 -- nil: no tenant has a rate
if m[10] or ARGV[15] ~= '' then
  local idle = ARGV[3]
--BUCKET--
  -- holds charges a task to its tenant's bucket. If there is not enough, it takes the tenant out of the order until there is.
  holds = function(t, name, cost)
    if t.rate == nil then
      local rate, burst = string.match(call('HGET', P..':t:'..name, 'rl') or ARGV[15], '^(%S+) (%S+)$')
      t.rate = rate or false
      if rate then
        local used, at, was = bucket(name)
        t.burst, t.used, t.at = num(burst), used or 0, at or now
        t.paid = was and was ~= rate                -- from now on it comes back by another rate
      end
    end
    if not t.rate then return false end
    local needs = t.used + cost - t.burst
    if cost > t.burst then needs = t.used end       -- a whole bucket, and then a debt
    if needs <= 0 then
      t.used, t.paid = t.used + cost, true
      return false
    end
    local due = math.min(math.floor(t.at + needs / num(t.rate) * 1e6) + 1, 8e15)
    call('HSET', P..':t:'..name, 'pz', 'r'); call('ZADD', P..':h', string.format('%.0f', due), name)
    if due < nd then nd = due end
    t.held = true
    return true
  end
  charge = function(name, t) if t.paid then keep(name, t.used, t.at, t.rate) end end
end
local v0, T, H, ls, none, out, got, expired, looked, waited = v, {}, {}, {}, {}, {0, 0, 0, 0, 0, -1}, 0, 0, 0, 0
if m[4] then n = 0 elseif gim > 0 then n = math.min(n, gim - call('ZCARD', L)) end
while got < n and bytes > 0 and looked < n + 100 do
  looked = looked + 1
  local name, s, x
  local first = call('ZRANGE', R, 0, 0, 'WITHSCORES')
  if not first[1] then rank = -1; break end
  local least = num(first[2]) or num((string.gsub(first[2], 'e', '.0e'))) -- see number
  if least > v then v = least end                   -- the least tag, also if another one is taken
  if not some then name, s = first[1], least
  else
    x = choose()
    if not x then break end
    name, s = x[3], x[2]
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
  local top = (t.im == 0 or t.i < t.im) and call('ZPOPMIN', t.q) or none
  local id = top[1]
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
    elseif holds and holds(t, name, num(F.C or 1)) then
      call('ZADD', t.q, top[2], id); t.n = t.n + 1
    else
      hlc = hlc + 1; got = got + 1; bytes = bytes - #body
      local token, o = string.format('%.0f', hlc), 3 * got + 4
      local was, cost = s, F.C or 1
      s = s + math.min(cost / t.w, 1e15)
      if s == was and cost ~= '0' then s = was * (1 + 2.3e-16) end -- a tag so great that the cost is lost: still, others come first
      t.f = s; t.i = t.i + 1; t.c = t.c + 1
      ls[2*got-1], ls[2*got] = exp, id..'\n'..token..'\n'..name -- the lease: the worker that can name it holds it
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
  local on = t.n > 0 and not t.held and (t.im == 0 or t.i < t.im)
  if on then call('ZADD', R, string.format('%.17g', s), name) else call('ZREM', R, name) end
  if x then moved(x, on, s) end
end
if got > 0 then
  for k = 1, 2 * got, 200 do call('ZADD', L, unpack(ls, k, math.min(k + 199, 2 * got))) end
  if exp < nd then nd = exp end
  for b, by in pairs(H) do call('HINCRBY', P..':s', 'h'..b, by) end
else
  call('ZREM', L, '')                               -- nothing; but a server without memory lets only scripts go on that have begun to write
end
if expired > 0 then call('HINCRBY', P..':s', 'expired', expired) end
local ready = call('ZCARD', R)
-- A partition that was idle comes back to the virtual time of the others, when a caller comes that knows it. It is its clock that
-- is set forward, and not the tags of those that have come since.
local others, ahead, idle = num(ARGV[12]), num(m[7] or 0), '0'
if looked > 0 and m[8] ~= '0' then ahead = math.max(ahead, others - v0) end
if ready == 0 or others < 0 and m[8] ~= '0' then idle = '1' end
if looked > 0 then
  for name, t in pairs(T) do
    local key = P..':t:'..name
    call('HSET', key, 'f', string.format('%.17g', t.f), 'i', t.i, 'd', t.c)
    if charge then charge(name, t) end
    if t.n <= 0 and t.i == 0 and t.z == 0 then      -- all that it had has expired
      call('SREM', P..':a', name)
      if not t.keep then call('PEXPIRE', key, ARGV[3]) end
    end
  end
  call('HSET', M, 'v', string.format('%.17g', v), 'hlc', string.format('%.0f', hlc), 'nd', string.format('%.0f', nd), 'd', num(m[6] or 0) + got,
    'o', string.format('%.17g', ahead), 'b', string.format('%.17g', v0 + ahead), 'idle', idle, 'hs', string.format('%.0f', num(m[9] or 0) + waited))
end
-- A process that takes something and sees more, or leaves something that is due soon, wakes the next; so does one that can take only some of it.
if looked > 0 and (ready > 0 or got > 0 and nd < now + 2000000) and not (gim > 0 and call('ZCARD', L) >= gim) and call('LLEN', P..':w') == 0 then
  call('RPUSH', P..':w', '1')
end
out[1], out[2] = nd == 9e15 and '-1' or string.format('%.0f', nd), ready
out[3], out[4], out[5] = string.format('%.17g', v + ahead), string.format('%.17g', v0 + ahead), string.format('%.0f', now)
if some and got == 0 and looked > 0 then out[6] = rank end
return out
