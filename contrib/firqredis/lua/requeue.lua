-- Own ARGV: ids. Reply, per id: 1 requeued, 0 it is no dead letter.
local out = {}
for k = 7, #ARGV do
  local id, r = ARGV[k], 0
  if call('ZSCORE', X, id) then
    local x = remove(id)
    if x then
      local t = tenant(x.name)
      hlc = hlc + 1
      x.attempt, x.seq, x.due = 0, hlc, now
      if x.keep == '1' then call('SET', P..':u:'..x.name..'\n'..x.uniq, id, 'NX') end
      write(id, x); enter(t, id, x); place(t); count('requeued'); r = 1
    end
  end
  out[#out+1] = r
end
finish()
return out
