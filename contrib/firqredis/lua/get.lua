-- Own ARGV: id. Reply: state (1 queued, 2 delayed, 3 in flight, 4 dead, 5 completed), since or until when, body (of one that is completed: what
-- is kept), reason; nothing: there is none.
local id = ARGV[7]
local body = call('HGET', D, id)
if not body then
  local kept = call('GET', P..':k:'..id)
  return kept and {5, '0', kept, ''} or {}
end
local died, due = call('ZSCORE', X, id), call('ZSCORE', Z, id)
local function us(s) return string.format('%.0f', num(s) or num((string.gsub(s, 'e', '.0e')))) end -- miniredis cannot read 1e+8
if died then return {4, us(died), body, call('HGET', P..':xr', id) or ''} end
if due then return {2, us(due), body, ''} end
return {call('ZSCORE', P..':n:'..parse(body).name, id) and 1 or 3, '0', body, ''}
