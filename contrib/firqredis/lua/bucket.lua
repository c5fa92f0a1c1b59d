-- bucket returns what is used of a tenant's burst, at what time (us), and what comes back per second; nothing if none is known. It is kept for as
-- long after it is whole as a tenant without tasks is remembered.
local function bucket(name)
  local used, at, rate = string.match(call('GET', P..':b:'..name) or '', '^(%S+) (%S+) (%S+)$')
  if used then
    at = num(at)
    return math.max(0, num(used) - math.max(0, now - at) * num(rate) / 1e6), math.max(now, at), rate
  end
end
local function keep(name, used, at, rate)           -- no exponents
  call('SET', P..':b:'..name, string.format('%.9f %.0f %s', used, at, rate), 'PX',
    string.format('%.0f', math.min(used / num(rate) * 1000 + math.max(0, at - now) / 1000, 1e14) + 1 + num(idle)))
end
local function correct(name, by)
  local used, at, rate = bucket(name)
  if used then keep(name, math.max(0, used + by), at, rate) end
end
