-- Accepts tasks. ARGV: version, ageing us, the tenants' MaxQueued and MaxInFlight, TenantIdle ms, the partition's MaxQueued;
-- then per task: tenant, id, priority, weight ('': as it is), the body but for when it is queued and due, and what is special: '' or "due us
-- (0: now), delay us, unique key's ms (0: until the task ends), unique key".
-- Reply, per task: 1 accepted; 0 known already; -1 the tenant is full; -2 the partition is; or the id that has the unique key.
local P, call, num = KEYS[1], redis.call, tonumber
local M, D = P..':m', P..':d'
local tm, m = call('TIME'), call('HMGET', M, 'hlc', 'nd', 'v', 'ver', 'e')
if num(m[4] or 0) > num(ARGV[1]) then return redis.error_reply('FIRQVERSION '..m[4]) end
local now, hlc, nd = tm[1] * 1000000 + tm[2], num(m[1] or 0), m[2]
if hlc < now then hlc = now end                     -- never goes back, whatever the clock does
local T, out, woke, pushed, dups, full, held = {}, {}, false, 0, 0, 0, 0
local gqm = num(ARGV[6])
if gqm > 0 then held = call('HLEN', D) - call('ZCARD', P..':l') - call('ZCARD', P..':x') end
for k = 7, #ARGV, 6 do
  local name, id, special = ARGV[k], ARGV[k+1], ARGV[k+5]
  local t = T[name]
  if not t then
    local key, q = P..':t:'..name, P..':n:'..name
    local h = call('HMGET', key, 'i', 'f', 'z', 'qm', 'im', 'pz', 'wd')
    t = {key = key, q = q, c = 0, i = num(h[1] or 0), f = h[2], z = num(h[3] or 0), qm = num(h[4] or ARGV[3]), im = h[5],
      pz = h[6], wd = h[7] or '1', n = call('ZCARD', q)}
    t.z0 = t.z
    t.idle = t.n + t.z + t.i == 0
    T[name] = t
  end
  if ARGV[k+3] ~= t.wd and ARGV[k+3] ~= '' then       -- '': this client says nothing of weights
    t.wd = ARGV[k+3]
    call('HSET', t.key, 'wd', t.wd)
  end
  local res, due, u, ms = 1, 0, false, '0'
  if special ~= '' then
    local at, delay, uniq
    at, delay, ms, uniq = string.match(special, '^(%d+),(%d+),(%d+),(.*)$')
    due = num(at)
    if due == 0 then due = now + num(delay) end
    u = uniq ~= '' and P..':u:'..name..'\n'..uniq
  end
  if u or gqm > 0 or t.qm > 0 then                  -- else HSETNX tells whether the id is known
    local owner = u and call('GET', u)
    if owner and call('PTTL', u) < 0 and call('HEXISTS', D, owner) == 0 then owner = false end
    if call('HEXISTS', D, id) == 1 then res = 0
    elseif owner then res = owner; dups = dups + 1
    elseif t.qm > 0 and t.n + t.z >= t.qm then res = -1; full = full + 1
    elseif gqm > 0 and held >= gqm then res = -2; full = full + 1
    elseif u then
      if ms == '0' then call('SET', u, id) else call('SET', u, id, 'PX', ms) end
    end
  end
  if res == 1 then
    hlc = hlc + 1
    local at = string.format('%x%08x', math.floor(hlc / 4294967296), hlc % 4294967296) -- 32 bits each: a server may have no more
    if due > now then at = at..string.format('W%.0f', math.max(due - hlc, 0)) end
    if call('HSETNX', D, id, at..ARGV[k+4]) == 0 then res = 0
    else
      t.c = t.c + 1; pushed = pushed + 1; held = held + 1
      if due > now then
        call('ZADD', P..':z', due, id); t.z = t.z + 1
        if due < num(nd or 9e15) then nd = string.format('%.0f', due); woke = true end -- a process that sleeps does so for too long
      else                                          -- 6: before all others, FIFO; 1 to 5: FIFO, with a head start per level
        local p = num(ARGV[k+2])
        call('ZADD', t.q, p == 6 and hlc - 6e15 or hlc - (p - 1) * num(ARGV[2]), id); t.n = t.n + 1
        local first = t.n == 1
        if t.pz == 'r' and call('ZRANGE', t.q, 0, 0)[1] == id then -- its rate holds it back for what was first: pop looks again
          call('HDEL', t.key, 'pz'); call('ZREM', P..':h', name)
          t.pz, first = false, true
        end
        if first and not t.pz then
          local im = num(t.im or ARGV[4])
          if im == 0 or t.i < im then
            call('ZADD', P..':r', math.max(num(t.f or 0), num(m[3] or 0)), name); woke = true
          end
        end
      end
    end
  end
  out[#out + 1] = res
end
for name, t in pairs(T) do
  if t.c > 0 then
    call('HINCRBY', t.key, 'e', t.c)
    if t.z ~= t.z0 then call('HSET', t.key, 'z', t.z) end
    if t.idle then call('SADD', P..':a', name); call('PERSIST', t.key) end
  elseif t.idle and t.wd ~= '1' and call('HEXISTS', t.key, 'k') == 0 then call('PEXPIRE', t.key, ARGV[5]) end -- refused
end
call('HSET', M, 'hlc', string.format('%.0f', hlc), 'e', (m[5] or 0) + pushed)
if nd ~= m[2] then call('HSET', M, 'nd', nd) end
if dups > 0 then call('HINCRBY', P..':s', 'duplicates', dups) end
if full > 0 then call('HINCRBY', P..':s', 'rejected', full) end
if woke and call('LLEN', P..':w') == 0 then call('RPUSH', P..':w', '1') end
return out
