-- Ends deliveries for good. ARGV: the tenants' MaxInFlight, TenantIdle ms, the partition's MaxInFlight; then per task: id, tenant,
-- token, cost correction, unique key that ends with the task.
-- Reply, per task: 1 acked, 0 the lease is not the caller's any more.
local P, call, num = KEYS[1], redis.call, tonumber
local L, T, ls, out, gone, acked = P..':l', {}, {}, {}, {}, 0
local held = num(ARGV[3]) > 0 and call('ZCARD', L)
for k = 4, #ARGV, 5 do ls[#ls+1] = ARGV[k]..'\n'..ARGV[k+2]..'\n'..ARGV[k+1] end
local have = call('ZMSCORE', L, unpack(ls))
local mine = {}
for j = 1, #ls do
  local k = 5 * j - 1
  local id, name = ARGV[k], ARGV[k+1]
  out[j] = 0
  if have[j] and not mine[ls[j]] then
    mine[ls[j]] = true
    local t = T[name] or {c = 0, d = 0}
    T[name] = t; t.c = t.c + 1; t.d = t.d + ARGV[k+3]
    --KEEP--
    acked = acked + 1; out[j] = 1
    gone[acked] = id; ls[acked] = ls[j]             -- acked <= j: what is overwritten was looked at
    if ARGV[k+4] ~= '' then
      local u = P..':u:'..name..'\n'..ARGV[k+4]
      if call('GET', u) == id then call('DEL', u) end
    end
  end
end
if acked < #out then
  call('ZREM', L, '')                               -- nothing; but a server without memory lets only scripts go on that have begun to write
  call('HINCRBY', P..':s', 'leaselost', #out - acked)
end
if acked == 0 then return out end
call('ZREM', L, unpack(ls, 1, acked)); call('HDEL', P..':d', unpack(gone, 1, acked)); call('HINCRBY', P..':s', 'acked', acked)
if call('EXISTS', P..':c') == 1 then call('SREM', P..':c', unpack(gone, 1, acked)) end
local freed = held and held >= num(ARGV[3])         -- the partition was full
for name, t in pairs(T) do
  local key = P..':t:'..name
  local h = call('HMGET', key, 'i', 'im', 'k', 'f', 'w', 'wd', 'pz', 'z')
  local was, im = num(h[1] or 0), num(h[2] or ARGV[1])
  local i = was - t.c
  call('HSET', key, 'i', i)
  -- i == 0: a client with a lower limit may have held it back.
  local room = im > 0 and i < im and (was >= im or i == 0)
  if i == 0 or room or t.d ~= 0 then
    local n, f = call('ZCARD', P..':n:'..name), num(h[4] or 0)
    if t.d ~= 0 then
      f = f + math.max(-1e15, math.min(t.d / num(h[5] or h[6] or 1), 1e15))
      call('HSET', key, 'f', string.format('%.17g', f))
      if call('EXISTS', P..':b:'..name) == 1 then
        local tm, idle = call('TIME'), ARGV[2]
        local now = tm[1] * 1000000 + tm[2]
--BUCKET--
        correct(name, t.d)
        if t.d < 0 and h[7] == 'r' then             -- it is held back for too long now
          call('HDEL', key, 'pz'); call('ZREM', P..':h', name)
          h[7], freed = false, true
        end
      end
    end
    if n > 0 and (room or t.d ~= 0) and not h[7] and (im == 0 or i < im) then
      call('ZADD', P..':r', string.format('%.17g', math.max(f, num(call('HGET', P..':m', 'v') or 0))), name)
      freed = freed or room
    elseif n == 0 and i == 0 and num(h[8] or 0) == 0 then
      call('SREM', P..':a', name)
      if not h[3] then call('PEXPIRE', key, ARGV[2]) end
    end
  end
end
if freed and call('EXISTS', P..':r') == 1 and call('LLEN', P..':w') == 0 then call('RPUSH', P..':w', '1') end
return out
