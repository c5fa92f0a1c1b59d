-- One round trip of a member: what it gives back and asks for, and which member gets what is free.
--
-- KEYS[1] is the prefix P, KEYS[2] is P:m; the other keys have the same hash tag:
--   P:m       hash: n limit, u slots that members have, v virtual time, b base of tags, e last token, g name of this data,
--             hz calls wait for slots (1), or more are out than there are (2), hp when that was last said, qt nothing is given out before,
--             nx no lease ends before, mc members, ri the replication of the server that last gave something out
--   P:l       zset of members by the end of their leases, ms
--   P:q       zset of the tenants whose calls wait and may have a turn, by their tags
--   P:h:ID    hash of a member: # slots it has, #t token, #q round trips, #e end of its lease, #s turns that were pushed, #o those
--             that no answer has repeated yet, tNAME: tenant NAME's hash has a field of this member
--   P:t:NAME  hash of a tenant: f tag, b its base, i turns in progress, w weight, x most turns, c cost of a turn, wt calls that
--             wait, l the member that got the last turn, z when it was made to last, p when its turns were called back, and
--             for each member mID: "calls that wait,slots of each,turns in progress"
--
-- ARGV: 1 member, 2 lease in ms, 3 limit (of a member that joins), 4 slots given back, 5 free slots wanted, 6 round trips of the member,
-- 7 'join', 'leave' or '', 8 token (when joining: the one before, 0: none), when joining: 9 slots it has, 10 the data's name,
-- 11 pushed turns that it has seen.
-- Then ten for each tenant: name, weight, most turns, calls that wait, slots of each, cost of a turn, turns that ended, their
-- slots, cost to add, and cost to add if the member's last round trips, whose outcome it does not know, did not take place.
local P, A, call = KEYS[1], ARGV, redis.call
local M, L, Q, FIRST = P..':m', P..':l', P..':q', 12
local S = 1099511627776 -- tags count from b * S, so that they stay small enough to be exact
local function num(x) return tonumber(x or 0) end
local t = call('TIME')
local now, lease = t[1] * 1000 + math.floor(t[2] / 1000), tonumber(A[2])
local keep = math.max(600000, 20 * lease)
local m = call('HMGET', M, 'n', 'u', 'v', 'b', 'e', 'g', 'hz', 'hp', 'qt', 'nx', 'mc', 'ri')
local n, u, v, b, e, g = num(m[1]), num(m[2]), num(m[3]), num(m[4] or now), num(m[5]), m[6]
local said, quiet, nx, mc = num(m[8]), num(m[9]), num(m[10]), num(m[11])
local was = {n = n, b = b, e = e, hp = said, qt = quiet, nx = nx, mc = mc}
if g == '' then g = false end
if not m[4] then call('DEL', Q) end -- this is new, or was evicted: tags of before have a lesser base, and so count no more

-- tenants
local function parse(rec)
  local a, k, h = string.match(rec, '^(%d+),(%d+),(%d+)')
  return tonumber(a), tonumber(k), tonumber(h)
end
local function able(T) return T.wt > 0 and (T.x == 0 or T.i < T.x) end
local function tenant(name, f, base, i, w, x, c, wt, z, l, p)
  local T = {name = name, key = P..':t:'..name, f = num(f) - (b - num(base)) * S, i = num(i), w = tonumber(w or 1), x = num(x),
    c = tonumber(c or 1), wt = num(wt), z = num(z), l = l or '', p = num(p), set = {}} -- set: what is to be written besides
  if num(base) ~= b then T.set.b = b end
  T.was = able(T)
  return T
end
local function read(name, id)
  local r = call('HMGET', P..':t:'..name, 'f', 'b', 'i', 'w', 'x', 'c', 'wt', 'z', 'l', 'p', 'm'..id)
  return tenant(name, r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10]), r[11]
end
local function write(T, id, rec) -- rec: the field of a member; nil: as it is; '': none
  local a = {'HSET', T.key, 'f', T.f, 'i', T.i, 'wt', T.wt}
  for k, x in pairs(T.set) do a[#a+1] = k; a[#a+1] = x end
  T.set = {}
  if rec == '' then call('HDEL', T.key, 'm'..id)
  elseif rec then a[#a+1] = 'm'..id; a[#a+1] = rec end
  local old = now - T.z > 60000
  if old then a[#a+1] = 'z'; a[#a+1] = now end
  call(unpack(a))
  if old then call('PEXPIRE', T.key, 300000) end
  if able(T) then call('ZADD', Q, math.max(T.f, v), T.name)
  elseif T.was then call('ZREM', Q, T.name) end
end

-- members
local function drop(id)
  local H = P..':h:'..id
  local counted = call('ZREM', L, id) == 1
  if counted then mc = mc - 1 end
  local h = call('HGETALL', H)
  for k = 1, #h, 2 do
    if h[k] == '#' then if counted then u = u - tonumber(h[k+1]) end
    elseif string.sub(h[k], 1, 1) == 't' then
      local T, rec = read(string.sub(h[k], 2), id)
      if rec then
        local want, _, held = parse(rec)
        T.wt, T.i = T.wt - want, T.i - held
        write(T, id, '')
      end
    end
  end
  call('DEL', H)
end
if now >= nx then
  for _, id in ipairs(call('ZRANGEBYSCORE', L, '-inf', now)) do drop(id) end
  u, mc = 0, 0 -- counted anew, as a server that evicts keys loses a part of the data
  for _, id in ipairs(call('ZRANGE', L, 0, -1)) do
    local has = call('HGET', P..':h:'..id, '#')
    if has then u, mc = u + has, mc + 1
    else -- until it has said what it has
      call('ZREM', L, id)
      quiet = now + lease
    end
  end
  nx = tonumber(call('ZRANGE', L, 0, 0, 'WITHSCORES')[2] or now + lease)
end

local me, known, redo, held, ends, trips, outbox = A[1], true, false, 0, 0, 0, ''
local token, changed, H = tonumber(A[8]), false, P..':h:'..A[1]
local h = call('HMGET', H, '#', '#t', '#q', '#e', '#o', '#s')
local lags = num(h[3]) < tonumber(A[6]) or num(h[6]) < tonumber(A[11]) -- older data than this member has seen
if A[7] == 'join' then -- in place of what it was before
  local same = num(h[2]) == token and num(h[3])
  redo = same == tonumber(A[6])
  if h[1] then drop(me) end
  -- Data that was lost, or is older: nothing is given out until all members that have slots have said so.
  if token > 0 and (g ~= A[10] or token > e or same and lags) then quiet = now + lease end
  e = math.max(e + 1, token + 1, t[1] * 1000000 + t[2])
  if n == 0 or token == 0 then changed = n ~= 0 and n ~= tonumber(A[3]); n = tonumber(A[3]) end
  token, held, mc = e, tonumber(A[9]), mc + 1
  g = g or string.format('%.0f', e)..me
  u = u + held
  call('HSET', H, '#t', string.format('%.0f', token))
else
  held, trips, ends, outbox = num(h[1]), num(h[3]), num(h[4]), h[5] or ''
  known = h[1] and num(h[2]) == token and now < ends and g == A[10]
  if known and (lags or trips ~= tonumber(A[6])) then known, quiet = false, now + lease end
  if known and A[7] == 'leave' then drop(me) end
end
local stays = known and A[7] ~= 'leave'

if stays then
  local back = tonumber(A[4])
  for k = FIRST, #A, 10 do
    local want, ended = tonumber(A[k+3]), tonumber(A[k+6])
    local T, rec = read(A[k], me)
    local had, slots, old = 0, 0, 0
    if rec then had, slots, old = parse(rec) end
    if A[k+1] ~= '0' then
      local w, x, c = tonumber(A[k+1]), tonumber(A[k+2]), tonumber(A[k+5])
      if w ~= T.w then T.w, T.set.w = w, w end
      if x ~= T.x then T.x, T.set.x = x, x end
      if c ~= T.c then T.c, T.set.c = c, c end
    end
    if T.wt == 0 and T.i == 0 and T.f < v then T.f = v end
    T.f = T.f + tonumber(A[k+8]) / T.w
    if redo then T.f = T.f + tonumber(A[k+9]) / T.w end
    T.i, T.wt, old, back = T.i - ended, T.wt - had + want, old - ended, back + tonumber(A[k+7])
    if T.i < 0 then T.i = 0 end -- its hash is gone
    if old < 0 then old = 0 end
    if want > 0 and T.x > 0 and T.i >= T.x and now - T.p > 100 then -- members that keep its turns for later give them back
      call('PUBLISH', P..':all', 'p\n'..A[k])
      T.set.p = now
    end
    if want == 0 and old == 0 then
      if rec then call('HDEL', H, 't'..A[k]) end
      write(T, me, rec and '')
    else
      if not rec then call('HSET', H, 't'..A[k], 1) end
      write(T, me, want..','..A[k+4]..','..old)
    end
  end
  held, u = held - back, u - back
end

-- What is free goes to the least tag, and there to the members in turn.
local mine, pushed, rounds = {}, {}, 0
local function line(s, T, slots) return s..'\n'..T.name..'\n'..slots..'\n'..string.format('%.17g', T.c)..'\n' end
local function grant(T, id, slots, want, has, tag)
  u, v = u + slots, math.max(v, tag)
  T.i, T.wt, T.f = T.i + 1, T.wt - 1, math.max(T.f, tag) + T.c / T.w
  if T.l ~= id then T.set.l = id end
  write(T, id, (want - 1)..','..slots..','..(has + 1))
  if id == me and stays then
    held = held + slots
    mine[#mine+1] = line('0', T, slots)
    return
  end
  local w = pushed[id]
  if not w then
    local h = call('HMGET', P..':h:'..id, '#', '#s', '#o', '#t')
    w = {held = num(h[1]), s = num(h[2]), o = h[3] or '', t = h[4] or '', new = {}}
    pushed[id] = w
  end
  w.held, w.s = w.held + slots, w.s + 1
  w.new[#w.new+1] = line(string.format('%.0f', w.s), T, slots)
end
local function choose(all, l) -- the next member with calls that wait
  local next, least
  for id in pairs(all) do
    if id > l and (not next or id < next) then next = id end
    if not least or id < least then least = id end
  end
  return next or least
end
local q = call('ZRANGE', Q, 0, 0, 'WITHSCORES')
local ri = m[12] or ''
if ri == '' or u < n and (q[1] or A[5] ~= '0') then
  -- A replica that has taken over may lack what its primary gave out last, and does not know of whom it is. Its second id is that of the
  -- primary before; a server that was restarted with all its data has none.
  local info = redis.pcall('INFO', 'replication')
  if type(info) ~= 'string' then ri = '-' -- it may not be asked
  elseif ri == '' or not string.find(info, ri, 1, true) then
    if ri ~= '' and string.find(info, 'master_replid2:%w*[1-9a-f]') then quiet = now + lease end
    ri = string.match(info, 'master_replid:%w+') or '-'
  end
end
while q[1] and u < n and now >= quiet and rounds < 256 do
  rounds = rounds + 1
  local r, F, waits = call('HGETALL', P..':t:'..q[1]), {}, {}
  for j = 1, #r, 2 do
    local k = r[j]
    if string.sub(k, 1, 1) ~= 'm' then F[k] = r[j+1]
    elseif string.sub(r[j+1], 1, 2) ~= '0,' then waits[string.sub(k, 2)] = r[j+1] end
  end
  local T = tenant(q[1], F.f, F.b, F.i, F.w, F.x, F.c, F.wt, F.z, F.l, F.p)
  local id = choose(waits, T.l)
  if not id or not able(T) then call('ZREM', Q, q[1]) -- its hash is gone
  else
    local want, slots, has = parse(waits[id])
    if slots > n then -- its member hears of the limit soon, and asks again
      T.wt, T.was = T.wt - want, true
      write(T, id, '0,'..slots..','..has)
    elseif u + slots > n then break -- it gets slots as they come
    else
      T.was = true
      grant(T, id, slots, want, has, tonumber(q[2]))
    end
  end
  q = call('ZRANGE', Q, 0, 0, 'WITHSCORES')
end
for id, w in pairs(pushed) do
  local new = table.concat(w.new)
  call('HSET', P..':h:'..id, '#', w.held, '#s', w.s, '#o', w.o..new)
  call('PUBLISH', P..':w:'..id, w.t..'\n'..new)
end

local hungry = u > n and '2' or q[1] and '1' or '0'
if hungry ~= '0' and (m[7] ~= hungry or now - said > 100) then
  call('PUBLISH', P..':all', hungry == '2' and 'o' or 'h')
  call('PEXPIRE', Q, keep) -- it may be new
  said = now
end
if changed then call('PUBLISH', P..':all', 's') end
local extra = 0
if stays then
  if hungry == '0' and now >= quiet and u < n then extra = math.min(tonumber(A[5]), math.floor((n - u) / 2)) end
  u, held, trips = u + extra, held + extra, trips + 1
  local a = {'HSET', H, '#', held, '#q', trips}
  if outbox ~= '' then a[#a+1] = '#o'; a[#a+1] = '' end
  local renew = ends - now < 0.9 * lease
  if renew then
    ends = now + lease
    a[#a+1] = '#e'; a[#a+1] = ends
    call('ZADD', L, ends, me)
    if ends < nx then nx = ends end
  end
  call(unpack(a))
  if renew then -- all that is left behind ends by itself
    for _, key in ipairs({M, L, Q, H}) do call('PEXPIRE', key, keep) end
  end
end
if v > S then -- count from a greater base
  local by = math.floor(v / S)
  local all = call('ZRANGE', Q, 0, -1, 'WITHSCORES')
  for k = 1, #all, 2 do call('ZADD', Q, tonumber(all[k+1]) - by * S, all[k]) end
  b, v = b + by, v - by * S
end
local a = {'HSET', M, 'u', u, 'v', v}
local function put(field, old, new) -- what has changed: to make texts of numbers is most of what a field costs
  if not m[4] or old ~= new then a[#a+1] = field; a[#a+1] = new end
end
put('n', was.n, n)
put('b', was.b, b)
if not m[4] or was.e ~= e then put('e', nil, string.format('%.0f', e)) end
put('g', m[6], g or '')
put('hz', m[7], hungry)
put('hp', was.hp, said)
put('qt', was.qt, quiet)
put('nx', was.nx, nx)
put('mc', was.mc, mc)
put('ri', m[12], ri)
call(unpack(a))
if not known then return {'-1'} end
local next = nx - now -- when there may be something to give out without anybody's doing
if quiet > now then next = math.min(next, quiet - now) end
if rounds == 256 then next = 0 end
return {string.format('%.0f', token), tostring(n), hungry, tostring(mc), tostring(extra), tostring(next), tostring(ends - now), g, outbox..table.concat(mine)}
