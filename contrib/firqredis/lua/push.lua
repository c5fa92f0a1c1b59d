-- Accepts tasks. ARGV: version, ageing us, the tenants' MaxQueued and MaxInFlight, TenantIdle ms, the partition's MaxQueued;
-- then per task: tenant, id, priority, cost, due us (0: now), delay us, deadline us, attempts, unique key, its ms (0: until the
-- task ends), weight, meta, payload.
-- Reply, per task: 1 accepted; 0 known already; -1 the tenant is full; -2 the partition is; or the id that has the unique key.
local P, call, num = KEYS[1], redis.call, tonumber
local M, D = P..':m', P..':d'
local tm, m = call('TIME'), call('HMGET', M, 'hlc', 'nd', 'v', 'ver')
if num(m[4] or 0) > num(ARGV[1]) then return redis.error_reply('FIRQVERSION '..m[4]) end
local now, hlc, nd, v = tm[1] * 1000000 + tm[2], num(m[1] or 0), num(m[2] or 9e15), num(m[3] or 0)
if hlc < now then hlc = now end                     -- never goes back, whatever the clock does
local aging, dqm, dim, gqm = num(ARGV[2]), num(ARGV[3]), num(ARGV[4]), num(ARGV[6])
local T, out, woke, pushed, dups, full, held = {}, {}, false, 0, 0, 0, 0
if gqm > 0 then held = call('HLEN', D) - call('ZCARD', P..':l') - call('ZCARD', P..':x') end
for k = 7, #ARGV, 13 do
  local name, id, uniq = ARGV[k], ARGV[k+1], ARGV[k+8]
  local t = T[name]
  if not t then
    local key = P..':t:'..name
    local h = call('HMGET', key, 'i', 'f', 'z', 'qm', 'im', 'pz', 'wd', 'e', 'k')
    t = {key = key, q = P..':n:'..name, c = 0, i = num(h[1] or 0), f = num(h[2] or 0), z = num(h[3] or 0),
      qm = num(h[4] or dqm), im = num(h[5] or dim), pz = h[6], wd = h[7] or '', e = num(h[8] or 0), known = h[1], keep = h[9]}
    t.n = call('ZCARD', t.q)
    t.idle = t.n + t.z + t.i == 0
    T[name] = t
  end
  if ARGV[k+10] ~= t.wd then
    t.wd = ARGV[k+10]
    if t.wd == '' then call('HDEL', t.key, 'wd') else call('HSET', t.key, 'wd', t.wd) end
  end
  local res, u, owner = 1, uniq ~= '' and P..':u:'..name..'\n'..uniq, false
  if u then
    owner = call('GET', u)
    if owner and call('PTTL', u) < 0 and call('HEXISTS', D, owner) == 0 then owner = false end
  end
  if call('HEXISTS', D, id) == 1 then res = 0
  elseif owner then res = owner; dups = dups + 1
  elseif t.qm > 0 and t.n + t.z >= t.qm then res = -1; full = full + 1
  elseif gqm > 0 and held >= gqm then res = -2; full = full + 1
  else
    hlc = hlc + 1
    local p, due, keep = num(ARGV[k+2]), num(ARGV[k+4]), 0
    if due == 0 then due = now + num(ARGV[k+5]) end
    if u then
      if ARGV[k+9] == '0' then call('SET', u, id); keep = 1 else call('SET', u, id, 'PX', ARGV[k+9]) end
    end
    call('HSET', D, id, string.format('0:%s:%s:%.0f:%.0f:%s:%s:%d:%s\n%s\n%s\n', p, ARGV[k+3], hlc, due > now and due or now,
      ARGV[k+6], ARGV[k+7], keep, name, uniq, ARGV[k+11])..ARGV[k+12])
    t.c = t.c + 1; pushed = pushed + 1; held = held + 1
    if due > now then
      call('ZADD', P..':z', due, id); t.z = t.z + 1
      if due < nd then nd = due; woke = true end    -- who sleeps sleeps for too long
    else                                            -- 6: before all others, FIFO; 1 to 5: FIFO, with a head start per level
      call('ZADD', t.q, p == 6 and hlc - 6e15 or hlc - (p - 1) * aging, id); t.n = t.n + 1
      if t.n == 1 and not t.pz and (t.im == 0 or t.i < t.im) then
        call('ZADD', P..':r', t.f > v and t.f or v, name); woke = true
      end
    end
  end
  out[#out + 1] = res
end
for name, t in pairs(T) do
  if t.c > 0 then
    call('HSET', t.key, 'e', t.e + t.c, 'z', t.z)
    if not t.known then call('HSET', t.key, 'i', 0) end
    if t.idle then call('SADD', P..':a', name); call('PERSIST', t.key) end
  elseif t.idle and t.wd ~= '' and not t.keep then call('PEXPIRE', t.key, ARGV[5]) end -- refused: nothing else may be there
end
call('HSET', M, 'hlc', string.format('%.0f', hlc), 'nd', string.format('%.0f', nd))
if pushed > 0 then call('HINCRBY', P..':s', 'enqueued', pushed) end
if dups > 0 then call('HINCRBY', P..':s', 'duplicates', dups) end
if full > 0 then call('HINCRBY', P..':s', 'rejected', full) end
if woke and call('LLEN', P..':w') == 0 then call('RPUSH', P..':w', '1') end
return out
