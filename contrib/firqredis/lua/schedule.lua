-- Own ARGV: "put", id, the schedule, its cron and zone, next due us; or "delete", id.
-- Reply: put: next due us; delete: how many.
local S, id = P..':sz', ARGV[8]
if ARGV[7] == 'delete' then
  call('HDEL', P..':sc', id); call('HDEL', P..':sl', id); call('ZREM', S, id)
  return call('HDEL', P..':sch', id)
end
call('HSET', P..':sch', id, ARGV[9])
if call('HGET', P..':sc', id) ~= ARGV[10] or not call('ZSCORE', S, id) then
  call('HSET', P..':sc', id, ARGV[10]); call('ZADD', S, ARGV[11], id)
end
return string.format('%.0f', num(call('ZSCORE', S, id)))
