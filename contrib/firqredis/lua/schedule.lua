-- Own ARGV: "put", id, the schedule, its cron and zone, next due us; or "delete", id, cron and zone of what will take its place.
-- Reply: put: next due us; delete: -1 there is none, 0 it had another cron or zone, else when it was due next, us.
local S, id = P..':sz', ARGV[8]
if ARGV[7] == 'delete' then
  local due = call('HGET', P..':sc', id) == ARGV[9] and call('ZSCORE', S, id)
  call('HDEL', P..':sc', id); call('HDEL', P..':sl', id); call('ZREM', S, id)
  if call('HDEL', P..':sch', id) == 0 then return '-1' end
  return string.format('%.0f', num(due or 0))
end
call('HSET', P..':sch', id, ARGV[9])
if call('HGET', P..':sc', id) ~= ARGV[10] or not call('ZSCORE', S, id) then
  call('HSET', P..':sc', id, ARGV[10]); call('ZADD', S, ARGV[11], id)
end
return string.format('%.0f', num(call('ZSCORE', S, id)))
