-- Own ARGV: id. Reply: 0 unknown, 1 removed, 2 in flight: its worker is told by extend.
local id = ARGV[7]
local body = call('HGET', D, id)
if not body or call('ZSCORE', X, id) then return 0 end
local x = parse(body)
local t = tenant(x.name)
if call('ZREM', t.q, id) == 1 then t.n = t.n - 1
elseif call('ZREM', Z, id) == 1 then t.z = t.z - 1
else call('SADD', P..':c', id); return 2 end
call('HDEL', D, id); ended(id, x); count('cancelled'); place(t); finish()
return 1
