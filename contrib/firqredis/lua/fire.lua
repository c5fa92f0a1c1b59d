-- Fires a schedule: exactly once per due time, whoever asks. Own ARGV: id, the due time that was expected and the next one, the
-- last one that is queued now; then per task: tenant, id, priority, cost, deadline us, attempts, unique key, its ms, meta, payload,
-- due us (0: now), weight ('': as it is).
-- Reply: -1 somebody else was first, or the schedule is another; else how many tasks were queued.
local S, id = P..':sz', ARGV[7]
local at, n = call('ZSCORE', S, id), 0
if not at or num(at) ~= num(ARGV[8]) then return -1 end
for k = 11, #ARGV, 12 do
  local name, tid, uniq = ARGV[k], ARGV[k+1], ARGV[k+6]
  local t, u, owner = tenant(name), P..':u:'..name..'\n'..uniq, false
  if ARGV[k+11] ~= t.wd and ARGV[k+11] ~= '' then
    t.wd = ARGV[k+11]
    call('HSET', t.key, 'wd', t.wd)
    t.w = num(t.set or t.wd)
  end
  if uniq ~= '' then
    owner = call('GET', u)
    if owner and call('PTTL', u) < 0 and call('HEXISTS', D, owner) == 0 then owner = false end
  end
  if owner then count('duplicates')
  elseif call('HEXISTS', D, tid) == 0 then
    hlc = hlc + 1
    local x = {attempt = 0, p = num(ARGV[k+2]), cost = ARGV[k+3], seq = hlc, due = math.max(now, num(ARGV[k+10])), deadline = ARGV[k+4],
      most = num(ARGV[k+5]), keep = uniq ~= '' and (ARGV[k+7] == '0' and '1' or '0') or nil, name = name, uniq = uniq,
      h = ARGV[k+8] ~= '' and '1' or nil, rest = (ARGV[k+8] ~= '' and ARGV[k+8]..'\n' or '')..ARGV[k+9]}
    if uniq ~= '' then
      if x.keep == '1' then call('SET', u, tid) else call('SET', u, tid, 'PX', ARGV[k+7]) end
    end
    write(tid, x)
    if num(ARGV[k+10]) > now then
      call('ZADD', Z, ARGV[k+10], tid); t.z = t.z + 1
      sooner(num(ARGV[k+10]))
    else enter(t, tid, x); place(t) end
    t.e = t.e + 1; count('enqueued'); n = n + 1
  end
end
call('ZADD', S, ARGV[9], id)
if ARGV[10] ~= '' then call('HSET', P..':sl', id, ARGV[10]) end
finish()
return n
