-- GCRA by the server's clock. KEYS[1]: "used since" of a tenant: what is used of its burst, at a time in us.
-- ARGV: 1 per second, 2 burst, 3 cost, 4 longest wait in s, 5 how much more may be taken ahead, 6 'c': it is a charge.
-- It returns what became of it (0 taken, 1 to be waited for, 2 refused), the wait in s, what is used, and what was taken ahead.
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local rate, burst, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local used = 0
local u, s = string.match(redis.call('GET', KEYS[1]) or '', '^(%S+) (%S+)$')
if u then used = math.max(0, tonumber(u) - math.max(0, now - tonumber(s)) / 1000000 * rate) end
local function answer(what, wait, more)
  if what ~= 2 then
    if used > 0 then
      redis.call('SET', KEYS[1], string.format('%.17g %.0f', used, now), 'PX', string.format('%.0f', math.min(math.ceil(used / rate * 1000) + 1, 4e12)))
    else redis.call('DEL', KEYS[1]) end
  end
  return {what, string.format('%.17g', wait), string.format('%.17g', used), more}
end
if ARGV[6] == 'c' then
  used = math.max(0, used + cost)
  return answer(0, 0, 0)
end
local wait = (used + cost - burst) / rate
if cost > burst then wait = used / rate end -- when the burst is whole
if wait <= 1e-9 then
  local more = math.max(0, math.min(tonumber(ARGV[5]), math.floor(burst - used - cost)))
  used = used + cost + more
  return answer(0, 0, more)
end
if wait <= tonumber(ARGV[4]) then
  used = used + cost
  return answer(1, wait, 0)
end
return answer(2, wait, 0)
