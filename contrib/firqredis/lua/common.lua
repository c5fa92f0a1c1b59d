-- What the scripts have in common that are not called for each task: each function that is defined costs half a microsecond.
-- ARGV of all of them: ageing us, the tenants' MaxInFlight, TenantIdle ms, dead letters per tenant (below 0: any number), for how
-- many us (below 0: for ever), the partition's MaxInFlight; then the script's own.
local P, call, num = KEYS[1], redis.call, tonumber
local M, R, D, L, Z, X = P..':m', P..':r', P..':d', P..':l', P..':z', P..':x'
local aging, dim, idle, deads, deadFor, gim = num(ARGV[1]), num(ARGV[2]), ARGV[3], num(ARGV[4]), num(ARGV[5]), num(ARGV[6])
local T, C, freed = {}, {}, false
local tm, m = call('TIME'), call('HMGET', M, 'v', 'hlc', 'nd')
local now = tm[1] * 1000000 + tm[2]
local v, hlc, nd = num(m[1] or 0), num(m[2] or 0), num(m[3] or 9e15)
if hlc < now then hlc = now end

local function digits(x) return string.format('%.17g', x) end
local function count(name, by) C[name] = (C[name] or 0) + (by or 1) end

local function tenant(name)
  local t = T[name]
  if not t then
    local key = P..':t:'..name
    local h = call('HMGET', key, 'f', 'i', 'z', 'w', 'wd', 'im', 'pz', 'k')
    t = {name = name, key = key, q = P..':n:'..name, f = num(h[1] or 0), i = num(h[2] or 0), z = num(h[3] or 0),
      w = num(h[4] or h[5] or 1), im = num(h[6] or dim), pz = h[7], keep = h[8], known = h[1] or h[2] or h[3], set = h[4], wd = h[5] or '1', e = 0}
    t.n = call('ZCARD', t.q)
    t.active = t.n + t.z + t.i > 0
    T[name] = t
  end
  return t
end

-- parse returns what a task says of itself; stored.go has the format.
local function parse(body)
  local at, more, name, from = string.match(body, '^([0-9a-f]+)([^:]*):([^\n]*)\n()')
  local F, uniq = {}, ''
  for k, value in string.gmatch(more, '(%u)(%d+)') do F[k] = value end
  if F.K then uniq, from = string.match(body, '^([^\n]*)\n()', from) end
  local seq = num(string.sub(at, 1, -9), 16) * 4294967296 + num(string.sub(at, -8), 16)
  return {attempt = num(F.A or 0), p = num(F.P or 3), cost = F.C or '1', seq = seq, due = seq + num(F.W or 0), deadline = F.L or '0',
    most = num(F.M or 25), keep = F.K, h = F.H, name = name, uniq = uniq, rest = string.sub(body, from)}
end

local function write(id, x)
  local b = {string.format('%x%08x', math.floor(x.seq / 4294967296), x.seq % 4294967296)}
  local function put(k, value, default) if value and value ~= default then b[#b+1] = k..value end end
  put('A', x.attempt, 0); put('P', x.p, 3); put('C', x.cost, '1'); put('L', x.deadline, '0'); put('M', x.most, 25); put('K', x.keep); put('H', x.h)
  put('W', string.format('%.0f', math.max(x.due - x.seq, 0)), '0')
  call('HSET', D, id, table.concat(b)..':'..x.name..'\n'..(x.keep and x.uniq..'\n' or '')..x.rest)
end

-- ended lets go of a unique key that lasts as long as the task.
local function ended(id, x)
  if x.keep == '1' then
    local u = P..':u:'..x.name..'\n'..x.uniq
    if call('GET', u) == id then call('DEL', u) end
  end
end

-- enter queues a task as of its own time, which is when it was first due: a retry loses neither priority nor age.
local function enter(t, id, x)
  local at = math.max(x.seq, num(x.due))
  call('ZADD', t.q, x.p == 6 and at - 6e15 or at - (x.p - 1) * aging, id)
  t.n = t.n + 1
end

-- place puts a tenant where it belongs in the fair order after anything that may have changed that. If its rate held it back, pop
-- looks again whether that is so.
local function place(t)
  if t.pz == 'r' then
    call('HDEL', t.key, 'pz'); call('ZREM', P..':h', t.name)
    t.pz = false
  end
  if t.n > 0 and not t.pz and (t.im == 0 or t.i < t.im) then
    call('ZADD', R, digits(t.f > v and t.f or v), t.name); freed = true
  else
    call('ZREM', R, t.name)
  end
end

-- remove takes a dead letter away.
local function remove(id)
  local body = call('HGET', D, id)
  call('ZREM', X, id); call('HDEL', P..':xr', id)
  if not body then return end
  local x = parse(body)
  call('ZREM', P..':x:'..x.name, id); call('HDEL', D, id)
  return x
end

local function bury(id, x, why)
  local own = P..':x:'..x.name
  write(id, x); ended(id, x)
  call('ZADD', X, now, id); call('ZADD', own, now, id); call('HSET', P..':xr', id, why)
  count('dead')
  local over = call('ZCARD', own) - deads
  if deads >= 0 and over > 0 then
    for _, old in ipairs(call('ZRANGE', own, 0, math.min(over, 100) - 1)) do
      if remove(old) then count('purged') end
    end
  end
  if deadFor >= 0 and now + deadFor < nd then nd = now + deadFor end
end

-- sooner notes when something is due. If that is before what was, a process that sleeps does so for too long.
local function sooner(at)
  if at < nd then nd = at; freed = true end
end

-- leave ends a delivery otherwise than by ack. counted: it was an attempt. after: us until it is queued again.
-- It returns 1: it will be tried again, 2: it is dead, 3: it was cancelled.
local function leave(id, counted, after, why, dead)
  local x = parse(call('HGET', D, id))
  local t = tenant(x.name)
  t.i = t.i - 1
  if counted then x.attempt = x.attempt + 1
  else                                              -- no worker has had it, so its tenant does not pay
    t.f = t.f - math.min(x.cost / t.w, 1e15)
    if call('EXISTS', P..':b:'..x.name) == 1 then
--BUCKET--
      correct(x.name, -x.cost)
    end
  end
  if call('SREM', P..':c', id) == 1 then
    call('HDEL', D, id); ended(id, x); count('cancelled'); place(t)
    return 3
  end
  if counted and (dead or x.attempt >= x.most) then
    bury(id, x, why); place(t)
    return 2
  end
  if counted then write(id, x) end
  if after > 0 then
    call('ZADD', Z, now + after, id); t.z = t.z + 1
    sooner(now + after)
  else
    enter(t, id, x)
  end
  place(t)
  return 1
end

-- wake wakes a sleeper, if there is something to deliver, or if something is due before it would look again by itself.
local function wake()
  call('ZREM', L, '')                               -- nothing; but a server without memory lets only scripts go on that have begun to write
  if (call('EXISTS', R) == 1 or nd < now + 2000000) and call('LLEN', P..':w') == 0 then call('RPUSH', P..':w', '1') end
end

-- finish writes back what has changed. quiet: the caller wakes whom it has to.
local function finish(quiet)
  call('ZREM', L, '')                               -- see wake
  for _, t in pairs(T) do
    local kv = {'f', digits(t.f), 'i', t.i, 'z', t.z}
    local active = t.n + t.z + t.i > 0
    if t.known or active or t.keep then call('HSET', t.key, unpack(kv)) end
    if t.e > 0 then call('HINCRBY', t.key, 'e', t.e) end
    if active and not t.active then call('SADD', P..':a', t.name); call('PERSIST', t.key)
    elseif t.active and not active then call('SREM', P..':a', t.name) end
    if not active and not t.keep then call('PEXPIRE', t.key, idle) end
  end
  for k, by in pairs(C) do call('HINCRBY', P..':s', k, by) end
  call('HSET', M, 'v', digits(v), 'hlc', string.format('%.0f', hlc), 'nd', string.format('%.0f', nd))
  if not quiet and (freed or nd <= now) then wake() end
end
